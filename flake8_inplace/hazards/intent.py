"""Predicates that silence findings about writes that are plainly intended. Only here does a name silence a finding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..heap.regions import base_of
from ..heap.values import NONE, Array, Choice, Dict, List, Object, Ref, Tensor, Value
from ..program.scan import GRADIENTS
from ..program.site import Site
from ..trace.callables import Method, Namespace, Partial
from ..trace.frames import Frame
from ..trace.log import (
    STORED,
    WRITES,
    Overwrite,
    array_backing,
    attributes_bound,
    direct_tensors,
    given_tensors,
    spelled,
)
from ..trace.reports import Need, Refusal
from ..trace.trace import Trace

if TYPE_CHECKING:
    import libcst as cst


def variable_of(site: Site, frame: Frame) -> str:
    """Return the variable in the text of a write, such as ``x`` in ``x[0].add_(1)``, or an empty string."""
    from ..program.operands import called_name
    from ..program.wording import written_name

    called = frame.vars.get(called_name(site.expression))
    return (
        ""
        if isinstance(called, (Method, Partial))
        else written_name(site.expression, lambda name: _is_module(name, frame))
    )


def _is_module(name: str, frame: Frame) -> bool:
    """Return whether a variable is a module."""
    scope = frame.scope_of(name)
    return scope is not None and isinstance(scope.vars[name], (Ref, Namespace))


def output_of(site: Site) -> str:
    """Return the variable that a call is given as its output, such as ``x`` in ``torch.sub(x, y, out=x)``, or ""."""
    from ..program.wording import output_name

    return output_name(site.expression)


def is_meant(m: Trace, event: Overwrite, name: str, frame: Frame) -> bool:
    """Return whether a write is intended to be seen through ``name``, which is read now.

    It is, if the program writes through that name, or if the name of the write is no longer bound. A name that is the
    tensor on one path and a copy on another shows that the program knows about the alias, and so does a test whether
    the two names are the same tensor (``if kept is not written``). After ``total = result = x * 2``, what a loop adds
    to ``result`` is meant for ``total`` if ``result`` isn't used after the loop. After ``weights = counts``, so is what
    is added to ``counts`` if the function fills ``weights`` only on another path, where it is a tensor of its own.
    """
    from ..program.wording import is_built_for, lists, parts_filled, targets, tells_apart

    if not event.name:
        return not is_by_attribute(m, event, name, frame)
    if event.name != name:
        scope = _writer(event, frame).local(event.name)
        if scope is None or isinstance(scope.vars[event.name], Choice) or is_filled_by_another(m, event, name, frame):
            return True
        if _is_result_of_write(m, event, name, frame):
            return True
        body = m.text.body(frame.function)[0] if frame.function is not None else None
        if event.name in frame.elements and (body is None or event.form != "augmented" or lists(body, name)):
            return True
        if body is None or tells_apart(body, event.name, name):
            return body is not None
        if name in parts_filled(body, frame.line) and not _is_written_by(m, event.tensor, name, frame):
            return True
        return is_built_for(body, event.name, name, event.line, frame.line)
    bound = targets(event.line)
    return event.form != "inplace" or not bound or name in bound


def is_by_attribute(m: Trace, event: Overwrite, name: str, frame: Frame) -> bool:
    """Return whether a write is by an attribute that the function has bound to what ``name`` has, as a name for that.

    As ``self.h`` in ``self.h = self.norm(x)``, ``self.h *= 2``.
    """
    if event.name or event.frames[-1] is not frame:
        return False
    held = [each for value in attributes_bound(m, frame, frame.bound(name)) for each in direct_tensors(m, value)]
    own = any(tensor.storage is event.tensor.storage for tensor in held)
    return own and not is_bound_with_holder(m, frame, name)


def _writer(event: Overwrite, frame: Frame) -> Frame:
    """Return the function that made a write, if it is one that stands in another; else that one."""
    return event.frames[-1] if event.frames[-1].is_inside(frame) else frame


def copies_otherwise(m: Trace, event: Overwrite) -> bool:
    """Return whether the name of a write is a copy of the tensor on another path: ``if short: x = x[None].clone()``.

    A function that copies where it finds it necessary knows that it overwrites its argument elsewhere.
    """
    value = spelled(m, event)
    options = [array_backing(m.see(option)) for _, option in value.options] if isinstance(value, Choice) else []
    made = [base_of(option).made for option in options if isinstance(option, Tensor)]
    copied = [each for origin in made if origin and origin.op in ("clone", "copy") for each in origin.values]
    return any(tensor.storage is event.tensor.storage for each in copied for tensor in direct_tensors(m, each))


def _is_result_of_write(m: Trace, event: Overwrite, name: str, frame: Frame) -> bool:
    """Return whether the name of a write is that of what an in-place method of ``name`` returned: ``y = x.sub_(1)``."""
    from ..program.wording import targets

    earlier = [each for each in m.state[WRITES].get(event.tensor.storage, ()) if each.time < event.time]
    by = [each for each in earlier if each.name == name and each.form == "op_" and each.frames[-1] is frame]
    return any(event.name in targets(each.line) for each in by)


def _is_written_by(m: Trace, tensor: Tensor, name: str, frame: Frame) -> bool:
    """Return whether a function has overwritten a tensor by a name."""
    return any(each.name == name and each.frames[-1] is frame for each in m.state[WRITES].get(tensor.storage, ()))


def is_for_base(m: Trace, reader: Value, event: Overwrite, name: str, frame: Frame) -> bool:
    """Return whether a tensor over an array was only made to write to it, or the other way round.

    ``t = torch.from_numpy(a)``, ``t -= 1``, and the function, which does not use ``t`` again, returns ``a``. What the
    caller or a container has may be read there.
    """
    from ..program.wording import is_used_after

    inner = _writer(event, frame)
    body = m.text.body(inner.function)[0] if inner.function is not None else None
    apart = isinstance(reader, Array) is not event.written.array and inner.bound(event.name) > inner.bound(name)
    if not apart or body is None or event.line is None:
        return False
    storage = event.tensor.storage
    given = any(tensor.storage is storage for value in frame.arguments() for tensor in given_tensors(m, value, NONE))
    kept = any(storage in key for key in m.state[STORED])
    return not given and not kept and not is_used_after(body, event.line, event.name)


def writes_through(line: cst.CSTNode | None, name: str) -> bool:
    """Return whether a statement is a write that is spelled with a variable: ``row += x``, ``row.copy_(x)``."""
    from ..program.wording import written_by

    return name in written_by(line)


def reads_what_it_wrote(line: cst.CSTNode | None, event: Overwrite) -> bool:
    """Return whether a statement reads an attribute or entry as a write spelled it: ``self.mean``, ``state["x"]``."""
    from ..program.wording import reads_target, written_holder

    target = written_holder(event.site.expression)
    return target is not None and line is not None and event.line is not line and reads_target(line, target)


def is_statement(event: Overwrite) -> bool:
    """Return whether a write is a statement of its own: nothing uses its result."""
    from ..program.wording import is_statement

    return event.line is not None and is_statement(event.line, event.site.expression)


def is_operand(event: Overwrite) -> bool:
    """Return whether a larger expression uses the result of a write: ``layer(relu_(x))``."""
    from ..program.wording import is_assigned, is_statement

    line, node = event.line, event.site.expression
    if line is None or event.form in ("subscript", "augmented"):
        return False
    return not is_statement(line, node) and not is_assigned(line, node)


def is_bound_with_holder(m: Trace, frame: Frame, name: str) -> bool:
    """Return whether a variable was bound together with what holds the tensor: ``buf = state["m"] = zeros``.

    Such a name means the element or attribute: ``buf.div_(rate)`` is to scale what the state has.
    """
    from ..program.wording import binds_with_holder

    body = m.text.body(frame.function)[0] if frame.function is not None else None
    return bool(name) and body is not None and binds_with_holder(body, name)


def takes_part_only(m: Trace) -> bool:
    """Return whether an expression that is being evaluated is there for a part of its value: ``batch["x"][i]``."""
    from ..program.wording import takes_part

    here = m.here()
    line = m.stack.frames[-1].line if here is not None else None
    return here is not None and line is not None and takes_part(line, here.expression)


def gives_attribute(calls: Iterable[cst.CSTNode], name: str) -> bool:
    """Return whether a call, of which nobody uses the result, is given an attribute by its name: ``f(self.mean, x)``.

    The function is called for what it does to the attribute.
    """
    from ..program.wording import given_attributes

    return any(name in given_attributes(call) for call in calls)


def keeps_last(frame: Frame) -> bool:
    """Return whether the statement that a function is running takes the last of what it collects."""
    from ..program.wording import takes_last

    return frame.line is not None and takes_last(frame.line)


def spelled_with(site: Site | None, names: Iterable[str]) -> bool:
    """Return whether an expression is spelled with one of these variables."""
    from ..program.wording import mentioned

    return site is not None and not frozenset(names).isdisjoint(mentioned(site.expression))


def is_window(reader: Value, event: Overwrite, name: str, frame: Frame) -> bool:
    """Return whether a loop that overwrites an array reads a tensor over it, or the other way round, bound before it.

    Without a copy, such a tensor shows each iteration what the loop has written: that is what it was made for.
    """
    bound = frame.bound(name)
    begun = any(bound < loop.began < event.time for loop in frame.loops)
    return begun and isinstance(reader, Array) is not event.written.array


def is_filled_by_another(m: Trace, event: Overwrite, name: str, frame: Frame) -> bool:
    """Return whether a function that the caller chose fills a view, where the program does not fill the base itself."""
    from ..program.wording import filled_otherwise

    body = m.text.body(frame.function)[0] if frame.function is not None else None
    names = filled_otherwise(body, event.line, name) if body is not None else ()
    return any(frame.local(each) is not None for each in names)


def assigned_from(frame: Frame) -> frozenset[str]:
    """Return the names on the right of the assignment that a function is running, if it is one: attributes as well."""
    from ..program.wording import sources

    return sources(frame.line)


def assigned_to(frame: Frame) -> frozenset[str]:
    """Return the variables that the assignment binds which a function is running, if it is one."""
    from ..program.wording import targets

    return targets(frame.line)


def attribute_written(event: Overwrite) -> str:
    """Return the attribute in the text of a write, such as ``h`` in ``self.h[0] = 0``, or an empty string."""
    from ..program.wording import written_attribute

    return written_attribute(event.site.expression, lambda name: _is_module(name, event.frames[-1]))


def gives_itself(m: Trace, name: str, value: Value) -> bool:
    """Whether the running statement only gives an attribute what its own in-place method returns: ``x = x.add_(y)``."""
    tensor, frames = array_backing(value), m.stack.frames[-1:]
    events = m.state[WRITES].get(tensor.storage, ()) if isinstance(tensor, Tensor) else ()
    here = [event for event in events for frame in frames if event.line is frame.line and event.frames[-1] is frame]
    return any(attribute_written(event) == name for event in here)


def is_spelled_as_held(m: Trace, event: Overwrite) -> bool:
    """Return whether a write is spelled with what holds the tensor, and means that: ``self.kept["w"].mul_(2)``."""
    from ..program.wording import written_holder

    holder = spelled(m, event)
    return isinstance(holder, (Object, Dict, List)) and written_holder(event.site.expression) is not None


def is_spelled_otherwise(one: Overwrite, other: Overwrite) -> bool:
    """Return whether two writes are spelled with different attributes or elements: ``s["m"] += x``, ``s["v"] += x``."""
    from ..program.wording import reads_target, written_holder

    first, second = written_holder(one.site.expression), written_holder(other.site.expression)
    return first is not None and second is not None and not reads_target(first, second)


def says_in_place(name: str) -> bool:
    """Return whether the name of a function says that it works in place."""
    return (name.endswith("_") and not name.endswith("__")) or "inplace" in name or "in_place" in name


def optional(refusal: Refusal) -> bool:
    """Return whether a silent write is made only under an option named in-place: enabling it shows the intent.

    It stands in an arm of the test, or overwrites what the test has chosen: ``out = x if inplace else x.clone()``.
    """
    from ..program.wording import under_test

    site = refusal.write
    if refusal.kind not in ("argument", "saved", "grad_output", "ctx"):
        return False
    chosen = any(_is_enabled(need, site) for need in refusal.needs)
    return chosen or under_test(site.piece.read(), site.expression, lambda name: "inplace" in name)


def _is_enabled(need: Need, write: Site) -> bool:
    """Whether a write needs an option named in-place. Where another function tests it, its own has such a name, too."""
    from ..program.wording import mentioned, shows_enabled

    test = need.site if need.kind in ("where", "unless") else None
    if test is None or not shows_enabled(test.expression, lambda name: "inplace" in name, need.kind == "where"):
        return False
    return test.piece is write.piece or any("inplace" in name for name in mentioned(write.piece.read()))


def settled_elsewhere(m: Trace, misuse: Refusal) -> bool:
    """Return whether an immediate error is reported in an entry point of a file that never mentions gradients.

    The first call in grad mode would have shown the error, so external code calls the function under ``no_grad``.
    A method is excused for what it was given, and not for what its own object has, unless it overrides a method of
    another file: the code there calls it.
    """
    if not misuse.from_outside or misuse.kind not in ("out grad", "leaf", "leaf view"):
        return False
    return not m.text.file.mentions(GRADIENTS if misuse.kind == "out grad" else GRADIENTS | {"Parameter"})
