"""Code that runs twice: the second run reads what the first one overwrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..heap.regions import base_of
from ..heap.state import Declared, latest, same_or_none
from ..heap.values import (
    NONE,
    Choice,
    Dict,
    List,
    Object,
    Source,
    Storage,
    Tensor,
    Tuple,
    Unknown,
    Value,
    is_number,
)
from ..program.site import Site
from ..rule import Rule
from ..trace import events
from ..trace.frames import Class, Frame, Function
from ..trace.log import (
    ATTRIBUTE_WRITERS,
    WRITES,
    Change,
    Overwrite,
    array_backing,
    direct_tensors,
    given_tensors,
    proven,
    since,
    spelled,
)
from ..trace.reports import Need
from ..trace.trace import Trace
from .intent import attribute_written

RULES = (
    Rule(
        "TIP308",
        "dataset-element",
        "`__getitem__` changes in place what the dataset keeps",
        "dataset",
        "changes what the dataset keeps",
        other="made",
        effect="again in every epoch, silently",
        advice="work on a `clone()`",
        silent=True,
        at_run_time=False,
    ),
    Rule(
        "TIP313",
        "checkpointed-update",
        "a checkpointed function updates a buffer or an input, and does so again in the backward",
        "again",
        "runs again in the backward",
        other="checkpointed",
        effect="updated twice, silently",
        advice="update it outside",
        fix="never",
        silent=True,
        at_run_time=False,
    ),
)


@events.checkpoint.listen
def on_checkpoint(m: Trace, seen: Sequence[Tensor], begin: int) -> None:
    """Report what a checkpointed function has updated since ``begin``: backward runs it a second time.

    It updates the buffers of its module, or an input without a gradient.
    """
    for tensor in dict.fromkeys(seen):
        for event in since(m, tensor, begin) if not m.grad(tensor) else ():
            if converts(event) and (event.form != "op_" or event.written.op.endswith("_")):  # no batch norm
                m.refuse("again", event.site, guard=event.guard)


ORIGINS = 4
"""How many operators back it is asked what an element of a dataset was computed from."""
CACHED: Declared[Storage, Site | None] = Declared(same_or_none)
"""The memory that a cached function returns to each call, with the function."""


@events.cache.listen
def on_cache(m: Trace, function: Function, result: Value) -> None:
    """Note the tensors that a cached function returned. Weights are there to be trained."""
    for tensor in [each for each in direct_tensors(m, result) if not m.grad(each)]:
        m.state.set(m.state[CACHED], tensor.storage, Site(function.piece, function.node, function.node))


CONVERTED = (Source.MAYBE_CAST, Source.MAYBE_SAME)
"""What a conversion gives: a copy on one machine, or for one type, and the tensor itself on another."""
UNSURE: Declared[Storage, int] = Declared(latest)
"""When memory was last overwritten through what may be a copy of it: ``self.pe.to(device)``."""


@events.logged.listen
def on_logged(m: Trace, event: Overwrite) -> None:
    """Report an update of what is made once and used by every call, or by every instance.

    That is what a cached function returns for its arguments, what a parameter has by default, also if a method
    keeps it, and an attribute of the class that ``self.total += x`` is spelled for. A default that has a name where the
    function is defined, ``def hook(grad, total=total)``, is meant to be updated, and so is what a cached function
    without arguments returns.
    """
    if may_be_copy(event):
        m.state.set(m.state[UNSURE], event.tensor.storage, event.time)
    cached = m.state[CACHED].get(event.tensor.storage) if m.state[CACHED] and event.named else None
    if cached is not None and (converts(event) or _marks_what_is_given(m, event)):
        m.refuse("shared", event.site, other=cached)
    if not converts(event):
        return
    owner = event.frames[-1].owner
    methods = [each for each in owner.members.values() if isinstance(each, Function)] if owner is not None else []
    running = [(frame.function, frame.given) for frame in event.frames]
    for function, given in [*running, *((method, ()) for method in methods if method.defaults)]:
        if function is None or not _holds(m, function.defaults.values(), event.tensor):
            continue
        if not _holds(m, given, event.tensor) and not _is_named(m, function.frame, event.tensor):
            m.refuse("shared", event.site, other=Site(function.piece, function.node, function.node))
    if (
        owner is not None
        and event.form == "augmented"
        and _holds(m, [owner.members.get(attribute_written(event), NONE)], event.tensor)
    ):
        m.refuse("shared", event.site, other=Site(owner.piece, owner.node, owner.node))


def _marks_what_is_given(m: Trace, event: Overwrite) -> bool:
    """Whether a write is under a mask that the function was given: each call marks other places."""
    masks = [each for each in (*event.written.values, *(event.written.index or ())) if isinstance(each, Tensor)]
    made = [base.made for base in map(base_of, masks) if base.made is not None]
    operands = [each for origin in made for value in origin.values for each in direct_tensors(m, value)]
    given = event.frames[-1].arguments()
    return event.change is Change.MARKED and any(_holds(m, given, each) for each in (*masks, *operands))


_CALLED = frozenset({"forward", "__call__"})
"""Methods of what is called as a function: each call is to compute the same."""


@events.returns.listen
def on_return(m: Trace, args: Sequence[Value], result: Value, born: int, used: bool) -> None:
    """Report a table of a module that each call scales, or marks, by a variable: ``pe = self.pe``, ``pe *= 2``.

    So does any method that changes what may be a copy of the table, or the table itself. A table has values since the
    module was made, and nothing else writes to it. A state begins with zeros, or takes in what it is given.
    """
    frame = m.stack.frames[-1] if m.stack.frames and m.state[WRITES] else None
    if frame is None or frame.function is None or frame.function is _constructor(frame.owner):
        return
    if frame.function.name not in _CALLED and not any(time > born for time in m.state[UNSURE].values()):
        return
    owner, instance = frame.owner, frame.receiver
    if owner is None or not isinstance(instance, Object):
        return
    begun = min((each.born for each in m.stack.frames if each.receiver is instance), default=born)
    for name, value in m.state.get(instance).items.items():
        writer = m.state[ATTRIBUTE_WRITERS].get((instance, name))
        anew = writer is not None and writer[0] is frame  # by each call, which may write through the attribute
        for tensor in direct_tensors(m, value) if not isinstance(m.see(value), Tuple) else ():
            writes = since(m, tensor, born) if tensor.storage in m.state[WRITES] else []
            if (
                writes
                and _is_table(m, tensor, owner, writes, begun)
                and all(rescales(event) and _is_of_call(event, frame) for event in writes)
                and not (anew and any(not event.name or isinstance(spelled(m, event), Object) for event in writes))
            ):
                for event in writes:
                    needs = (Need("same", event.tensor.place),) if may_be_copy(event) else ()
                    made = Site(owner.piece, owner.node, owner.node)
                    m.refuse("shared", event.site, guard=event.guard, other=made, needs=needs)


def may_be_copy(event: Overwrite) -> bool:
    """Return whether a write goes to what a conversion gave: ``self.pe.to(device)``."""
    return event.tensor.origin in CONVERTED


def rescales(event: Overwrite) -> bool:
    """Return whether a write changes old values by numbers, or by a mask, through a name that the function has for it.

    Through ``self.pe.to(device)``, any change counts: it reaches the table on one machine, and a copy on another one.
    """
    if not event.named or event.form not in ("augmented", "op_", "inplace", "out", "subscript"):
        return False
    if may_be_copy(event):
        return not event.filled
    others = [value for value in map(array_backing, event.written.values) if value is not event.tensor]
    numbers = all(map(is_number, others))
    return event.change is Change.MARKED or (event.change is Change.CONVERTED and numbers)


def _is_of_call(event: Overwrite, frame: Frame) -> bool:
    """Whether a write stands in what is called as a function; where it may go to a copy, in any method."""
    here = event.frames[-1] is frame and frame.function is not None and frame.function.name in _CALLED
    return here or may_be_copy(event)


def _is_table(m: Trace, tensor: Tensor, owner: Class, writes: list[Overwrite], begun: int) -> bool:
    """Whether a module has had a tensor since it was made, with values that only ``__init__`` gave it.

    It has not if one of its methods, which has ``begun``, made it for the next ones.
    """
    origin = base_of(tensor).made
    if origin is not None and origin.time > begun:
        return False
    every, sites = m.state[WRITES].get(tensor.storage, ()), {event.site.expression for event in writes}
    others = [event for event in every if event.site.expression not in sites]
    made = _constructor(owner)
    by_constructor = made is not None and all(any(f.function is made for f in each.frames) for each in others)
    known = tensor.origin is Source.COMPUTED or (tensor.origin is Source.BLANK and bool(others))
    return known and by_constructor and not m.grad(tensor)


def _constructor(owner: Class | None) -> Function | None:
    """Return the ``__init__`` that a class defines, whose defaults its instances may keep."""
    found = owner.members.get("__init__") if owner is not None else None
    return found if isinstance(found, Function) else None


def _is_named(m: Trace, scope: Frame | None, tensor: Tensor) -> bool:
    """Whether a variable of a scope, or of one around it, is a tensor."""
    while scope is not None and not _holds(m, scope.vars.values(), tensor):
        scope = scope.parent
    return scope is not None


def _holds(m: Trace, values: Iterable[Value], tensor: Tensor) -> bool:
    return any(each.storage is tensor.storage for value in values for each in direct_tensors(m, value))


@events.dataset.listen
def on_dataset(m: Trace, getter: Function, instance: Value, collate: Value, surely: bool, site: Site) -> None:
    """Run ``__getitem__`` twice, and what collates, and report the in-place conversions that happen in both runs.

    A sequence that doesn't say that it is a dataset may have elements that change when they are asked for, such as
    ``self.rows[i].mul_(0.9)``, but not by a variable.
    """
    mark, index = m.state.mark(), Unknown(scalar=True)
    begin = m.tick()
    _visit(m, getter, [instance, index], collate, site)
    again_from, told = m.tick(), len(m.reports.misuses)
    element = _visit(m, getter, [instance, index], collate, site)
    if collate != NONE:
        del m.reports.misuses[told:]  # what the first run left is read again: below is asked whether that is the same
    for writes in list(m.state[WRITES].values()):
        first = {event.site.expression for event in writes if begin < event.time < again_from}
        again = [event for event in writes if event.time > again_from and event.site.expression in first]
        again = [event for event in again if event.tensor.origin is not Source.MAYBE_CAST]  # which may have copied
        again = [event for event in again if event.written.op != "shuffle" or _has_old_order(m, event, [element])]
        again = [event for event in again if _shows(m, event, element) and (surely or event.named)]
        for event in again if any(map(converts, again)) else ():
            other = m.here() or base_of(event.tensor).place
            m.refuse("dataset", event.site, guard=event.guard, through=(site,), other=other)
    m.state.rollback(mark)


def _visit(m: Trace, getter: Function, args: list[Value], collate: Value, site: Site) -> Value:
    """Get an element of a dataset, or a batch with it, as an epoch does."""
    element = m.run(getter, args, {}, site)
    return m.call(collate, [List([element])], {}, site) if collate != NONE else element


def _shows(m: Trace, event: Overwrite, element: Value) -> bool:
    """Whether an element of a dataset may show a write: no element shows a count of visits, or a running total.

    An unknown element may show a tensor that has a name in the function, but none that is written as an attribute.
    """
    memory, named = event.tensor.storage.memory, not attribute_written(event)
    return any(
        _is_in(source, memory) or (named and isinstance(source, Unknown) and not source.scalar)
        for source in sources(m, element)
    )


def sources(m: Trace, element: Value) -> Iterator[Value]:
    """Yield what an element of a dataset consists of, and all that it was computed from. An array is its tensor."""
    todo, seen = [element], dict[int, Value]()
    while todo:
        value = array_backing(proven(m, m.see(todo.pop())))
        if id(value) in seen:
            continue
        seen[id(value)] = value
        yield value
        if isinstance(value, Tensor):
            made = base_of(value).made
            todo += made.values if made is not None else ()
        elif isinstance(value, Choice):
            todo += [option for _, option in value.options]
        elif isinstance(value, Tuple):
            todo += value.items
        elif isinstance(value, List):
            todo += m.state.get(value).items
        elif isinstance(value, (Dict, Object)):
            todo += m.state.get(value).items.values()


def _has_old_order(m: Trace, event: Overwrite, values: Iterable[Value], depth: int = ORIGINS) -> bool:
    """Whether values may have been computed from an array before it was shuffled.

    The elements of an array have a random order after a shuffle, however many shuffles came before it.
    """
    memory = event.tensor.storage.memory
    for tensor in [each for value in values for each in given_tensors(m, value, NONE, 1)]:
        made = base_of(tensor).made
        if tensor.storage.memory is memory:
            continue
        if made is None:
            return True
        operands = [array_backing(m.see(value)) for value in made.values]
        if made.time < event.time and any(_is_in(operand, memory) for operand in operands):
            return True
        if depth > 1 and _has_old_order(m, event, operands, depth - 1):
            return True
    return False


def _is_in(value: Value, memory: Storage) -> bool:
    return isinstance(value, Tensor) and value.storage.memory is memory


def converts(event: Overwrite) -> bool:
    """Return whether a write computes new values from the old ones, so that repeating it changes them again."""
    written = event.written
    if written.op in _IDEMPOTENT or (written.op == "setitem" and all(map(is_number, written.values))):
        return False  # ``x[x > 2] = 2`` too
    return event.change is Change.CONVERTED if written.op == "setitem" else not event.filled


_IDEMPOTENT = frozenset("clamp_ clamp_min_ clamp_max_ relu_ abs_ masked_fill_ floor_ ceil_ round_".split())
