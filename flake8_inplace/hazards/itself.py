"""A value that was kept by reference meets the one that overwrote it: an operator relates a tensor to itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..heap.regions import base_of, same_tensor, unshaped
from ..heap.state import Declared, latest
from ..heap.values import (
    NONE,
    UNCERTAIN,
    Array,
    Dict,
    Grad,
    List,
    Object,
    Origin,
    Source,
    Tensor,
    Value,
    View,
)
from ..program.site import Site
from ..program.units import Triggers
from ..rule import Rule
from ..torchfacts.kinds import ADDING, DIFFERENCES, EQUATING, NOISE
from ..trace import events
from ..trace.frames import Frame
from ..trace.log import (
    ATTRIBUTE_WRITERS,
    STORED,
    WRITES,
    Overwrite,
    array_backing,
    direct_tensors,
    since,
    spelled,
)
from ..trace.trace import Trace
from .changes import changes, is_parameter
from .data import without_factors
from .intent import attribute_written, is_spelled_as_held, spelled_with
from .snapshots import Update, updates
from .two_holders import goes_over, judge_callers, judge_holders

if TYPE_CHECKING:
    from ..program.operands import Operand

# Training overwrites gradients and running statistics without a write in the text.
RULES: tuple[Rule, ...] = ()  # it reports TIP303
TRIGGERS = Triggers(names=frozenset({"grad", "running_mean", "running_var", "buffers", "named_buffers"}))


PUT: Declared[tuple[List | Dict, Tensor], int] = Declared(latest)
"""When a container got a parameter."""
TERMS = 3
"""How deep a sum is taken apart."""
_CHOICE = "where"
"""The operator that takes each element from one of two tensors; a masked assignment does that too."""
_SENSELESS = DIFFERENCES | {"copy_", _CHOICE, "maximum", "minimum"}
"""Operators that say nothing of a tensor and itself."""
_ELSEWHERE = EQUATING | {"lerp"}
"""Operators that may ask whether two names are one tensor, and those that `hazards.data` judges."""


@events.relate.listen
def on_relate(m: Trace, op: str, one: Tensor, other: Tensor, site: Site) -> None:
    """Report ``new - old`` if both names are one tensor, and one took it before a write and the other after it.

    A variable or attribute tells when it took the tensor. What is taken out of containers at the same place, such as
    ``zip(model.parameters(), kept)``, doesn't, and counts only for parameters and gradients.
    """
    if op in ADDING:
        _judge_terms(m, op, one, other, site)
    if op in EQUATING and one is other:
        _judge_equal(m, one, site)
    plain = without_factors(m, op, one, other)
    senseless = op in _SENSELESS and plain[0] is one and plain[1] is other  # `x - x * mask` says something
    one, other = _behind(m, *plain)
    if one.storage.memory is not other.storage.memory or op in _ELSEWHERE or not m.stack.frames:
        return
    taken = _taken(m, site, (one, other), senseless)
    if not _alike(one, other, taken.made_here):
        return
    trained, made = _is_trained(m, one) or _is_trained(m, other), _made(m, one, other)
    apart = one is not other and one.origin not in UNCERTAIN and other.origin not in UNCERTAIN
    if senseless and not goes_over(m, site) and _judge_two(m, op, (one, other), taken, site):
        return
    for span in _spans(taken, trained, senseless or _is_gradient(m, one)):
        source = taken.times[1][0] if op == "copy_" else 0  # what it took has all writes before that
        begin, end = max(span[0], made, source), span[1]
        every = [change for each in dict.fromkeys((one, other)) for change in changes(m, each, begin, end, senseless)]
        found = [each for each in every if not (op == "copy_" and _is_up_to_date(m, each, site, one, apart))]
        if not end and not all(time for time, _ in taken.times):
            found = [each for each in found if not _is_by_holder(m, each, one)]
        if places := _places_since(found, _kept(m, one)):
            m.refuse("read", places[0])
            return


def _is_by_holder(m: Trace, change: Overwrite | Update, tensor: Tensor) -> bool:
    """Whether the only dictionary with a tensor wrote to it: ``sums[k] += x``. It was to have the new value."""
    if not isinstance(change, Overwrite) or not is_spelled_as_held(m, change):
        return False
    owners = {owner for owner, storage in m.state[STORED] if storage is tensor.storage and isinstance(owner, Dict)}
    return len(owners) == 1 and isinstance(spelled(m, change), Dict)


def _judge_two(m: Trace, op: str, both: tuple[Tensor, Tensor], taken: _Taken, site: Site) -> bool:
    """Report a tensor that two have.

    What a function is given and copies back may have been made for that. What it has bound to an argument, ``before =
    x``, is to have the same value at first.
    """
    attributes = [time for time, attribute in taken.times if attribute]
    given = op != "copy_" and not taken.bound
    return judge_holders(m, *both, attributes, site) or (given and judge_callers(m, *both, site))


@events.copy.listen
def on_copy(m: Trace, tensor: Tensor, source: Tensor) -> None:
    """Report ``x.copy_(old)`` if both names are one tensor: it restores nothing.

    A function that asks whether they are copies where they are not.
    """
    from ..program.operands import operands
    from ..program.wording import tells_apart

    here = m.here()
    if here is None or tensor.storage.memory is not source.storage.memory or not m.stack.frames:
        return
    names = [operand.name for operand in operands(here.expression) or ()]
    function = m.stack.frames[-1].function
    if len(names) == 2 and function is not None and tells_apart(m.text.body(function)[0], *names):
        return
    on_relate(m, "copy_", tensor, source, here)


def _is_up_to_date(m: Trace, change: Overwrite | Update, site: Site, target: Tensor, apart: bool) -> bool:
    """Whether ``x.copy_(new)`` is not to undo a change: ``new`` was written by its own name, or by this copy to a part.

    If ``new`` has changed, the copy brings ``x`` up to date. An earlier run of the copy mostly went to another part.
    ``apart``: ``new`` is surely an alias that was taken, ``x.detach()``, and was to be another tensor.
    """
    from ..program.operands import operands

    if change.site is not None and change.site.expression is site.expression and target.view is not View.NONE:
        return True
    found = operands(site.expression)
    if apart or found is None or not isinstance(change, Overwrite):
        return False
    to, source = found
    if source.path:
        return attribute_written(change) == source.path[-1] not in (to.path or ())
    here = change.frames[-1] is m.stack.frames[-1]
    return here and source.path is not None and change.name == source.name != to.name


def _judge_equal(m: Trace, parameter: Tensor, site: Site) -> None:
    """Report ``torch.equal(p, before[name])`` if ``before`` has had the parameter since before it was updated.

    Who asks whether two modules have one parameter doesn't keep it in a container.
    """
    if not m.stack.frames or not is_parameter(m, parameter):
        return
    frame = m.stack.frames[-1]
    found = [change for change in changes(m, parameter, 0) if change.site is not None]
    if not found:
        return
    last = max(found, key=lambda change: change.time)
    had = (
        0 < _had(m, holder, parameter, bound) < last.time <= until for holder, bound, until in _asked(m, frame, site)
    )
    if last.site is not None and any(had):
        m.refuse("read", last.site)


def _asked(m: Trace, frame: Frame, site: Site) -> Iterator[tuple[List | Dict, int, int]]:
    """The containers that a comparison may have an operand from: each with when it got its name, and when it was read.

    A dictionary that it names, ``before[name]``, or a list that the function has read since, ``zip(new, before)``.
    """
    from ..program.wording import paths

    named = [path for path in paths(site.expression) if path[0] not in frame.elements]
    for path in named:
        held, bound = _at(m, frame, path)
        if isinstance(held, Dict):
            yield held, bound, m.clock
    for name, value in frame.vars.items():
        holder = m.see(value)
        if isinstance(holder, List):
            yield holder, frame.bound(name), m.clock if (name,) in named else frame.reads.get(name, 0)


def _at(m: Trace, frame: Frame, path: tuple[str, ...]) -> tuple[Value, int]:
    """Return what a variable has, or the attribute at the end of a path, and when that was bound."""
    value, bound = m.see(frame.vars.get(path[0], NONE)), frame.bound(path[0])
    for attribute in path[1:]:
        if not isinstance(value, Object):
            return NONE, 0
        bound = abs(m.state[STORED].get((value, attribute), 0)) or value.time
        value = m.see(m.state.get(value).items.get(attribute, NONE))
    return value, bound


def _had(m: Trace, holder: List | Dict, tensor: Tensor, bound: int) -> int:
    """Return since when a container has had a parameter: since it was ``bound``, or got it; 0 if it has not."""
    held = holder.initial.items.values() if isinstance(holder, Dict) else holder.initial.items
    return m.state[PUT].get((holder, tensor), bound if any(m.see(value) is tensor for value in held) else 0)


@events.append.listen
def on_append(m: Trace, container: List, value: Value) -> None:
    on_store(m, container, value)


@events.store.listen
def on_store(m: Trace, container: List | Dict, value: Value) -> None:
    """Note when a parameter was put into a container: `_judge_equal` asks."""
    value = m.see(value)
    if isinstance(value, Tensor) and (state := m.cell(value)).leaf and state.grad is Grad.YES:
        m.state.set(m.state[PUT], (container, value), m.tick())


@events.assign_in_array.listen
def on_assign_in_array(m: Trace, array: Array, index: tuple[Value, ...], value: Value, site: Site) -> None:
    on_assign_part(m, array.tensor, index, value, site)


@events.assign_part.listen
def on_assign_part(m: Trace, target: Tensor, index: tuple[Value, ...], value: Value, site: Site) -> None:
    """Report ``best[better] = x[better]`` where ``best`` is ``x``: it gives the elements their own values."""
    value = array_backing(m.see(value))
    made = value.made if isinstance(value, Tensor) and value.storage not in m.state[WRITES] else None  # no `x[i] -= 1`
    if made is None or made.op != "index" or made.values[1:] != index or not m.stack.frames:
        return
    source, line = array_backing(m.see(made.values[0])), m.stack.frames[-1].line
    if isinstance(source, Tensor) and line is not None:
        on_relate(m, _CHOICE, target, source, Site(site.piece, site.node, line))


def _places_since(changes: Sequence[Overwrite | Update], time: int) -> list[Site]:
    """Return where a tensor was changed after a time or, if it was not, at all."""
    later = [change.site for change in changes if change.site is not None and change.time > time]
    return later or [change.site for change in changes if change.site is not None]


def _kept(m: Trace, tensor: Tensor) -> int:
    """Return when a container first got a tensor; 0 if none has it."""
    times = (abs(time) for (_, held), time in m.state[STORED].items() if held is tensor.storage)
    return min(times, default=0)


def _made(m: Trace, one: Tensor, other: Tensor) -> int:
    """Return when the first of two aliases was made, such as ``w.detach()``: nothing was kept before. 0 if not known.

    One that is made here, as in ``w.data - kept.data``, tells nothing of when ``kept`` was.
    """
    frame = m.stack.frames[-1]
    here = frame.loops[-1].began if frame.loops else frame.born
    return min((time for time in (base_of(one).time, base_of(other).time) if 0 < time < here), default=0)


def _judge_terms(m: Trace, op: str, one: Tensor, other: Tensor, site: Site) -> None:
    """Report a gradient or parameter that a sum has twice, with both signs: ``w.grad - anchor.grad + full``."""
    if not m.stack.frames or not (m.state[WRITES] or updates(m)):
        return
    left, right = dict(_terms(m, one, 1)), dict(_terms(m, other, -1 if op == "sub" else 1))
    for new, old in [(new, old) for new in left for old in right if left[new] == -right[old]]:
        if new is one and old is other:  # what `on_relate` judges
            continue
        same = new.storage.memory is old.storage.memory and _alike(new, old, (False, False))
        bound = [time for tensor in (new, old) for time in _bound(m, tensor, site)] if same else []
        begin = max(bound, default=0)
        if bound and (_is_gradient(m, new) or (begin and is_parameter(m, new))):
            for change in changes(m, new, begin):
                if change.site is not None:
                    m.refuse("read", change.site)
                    return


def _terms(m: Trace, tensor: Tensor, sign: int, depth: int = TERMS) -> Iterator[tuple[Tensor, int]]:
    """Yield the terms of a sum, each with its sign."""
    made = tensor.made
    operands = [each for value in made.values for each in direct_tensors(m, value)] if made is not None else []
    if made is None or made.op not in ADDING or len(operands) != len(made.values) or not depth:
        yield tensor, sign
        return
    yield from _terms(m, operands[0], sign, depth - 1)
    yield from _terms(m, operands[1], -sign if made.op == "sub" else sign, depth - 1)


def _bound(m: Trace, tensor: Tensor, site: Site) -> Iterator[int]:
    """Yield when the variables of an expression were bound that hold a tensor; 0 for an element of a loop."""
    frame = m.stack.frames[-1]
    for name, value in frame.vars.items():
        if m.see(value) is tensor and spelled_with(site, (name,)):
            yield 0 if name in frame.elements else frame.bound(name)


def _behind(m: Trace, one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Return what two operands are the same function of: ``new`` and ``old`` of ``new.norm() - old.norm()``.

    If the memory was overwritten between the two calls, they have different values, and are returned themselves.
    """
    if one.storage.memory is other.storage.memory:
        return one, other
    new, old = one, other
    left, right = _function_of(m, new), _function_of(m, old)
    while left is not None and right is not None and left.op == right.op:
        begin, end = sorted((left.time, right.time))
        inside = [[each for value in made.values for each in direct_tensors(m, value)] for made in (left, right)]
        if any(len(tensors) != 1 for tensors in inside):
            break
        new, old = (tensors[0] for tensors in inside)
        if new.storage.memory is old.storage.memory:
            changed = [change for each in (new, old) for change in changes(m, each, begin, end, asked_for=True)]
            return (one, other) if changed else (new, old)
        left, right = _function_of(m, new), _function_of(m, old)
    return one, other


def _function_of(m: Trace, tensor: Tensor) -> Origin | None:
    """Return the call whose operands give a tensor its values; None for a buffer, or what was overwritten since."""
    made = tensor.made
    if made is None or tensor.origin is Source.BLANK or made.op in NOISE or since(m, tensor, made.time):
        return None
    return made


def _spans(taken: _Taken, trained: bool, senseless: bool) -> Iterator[tuple[int, int]]:
    """Yield when one operand took the tensor, and when the other one did; 0 is now.

    ``senseless``: no attribute is related to itself like this, so it was to have the value that it took.
    """
    variables = [time for time, attribute in taken.times if not attribute]
    if all(variables) and len(variables) == 2:
        if variables[0] != variables[1]:
            yield (max(variables), 0) if taken.bound else (min(variables), max(variables))
        return
    last = max(variables, default=0)
    if last or trained:
        yield last, 0
    kept = sorted(time for time, _ in taken.times)
    if senseless and kept[0] < kept[1] and kept[0]:
        yield kept[0], kept[1]
        yield kept[1], 0


def _alike(one: Tensor, other: Tensor, made_here: Sequence[bool]) -> bool:
    """Whether two tensors surely have the same values. What may be a copy counts only if it was made here."""
    if any(each.origin in UNCERTAIN and not here for each, here in zip((one, other), made_here, strict=True)):
        return False
    one, other = unshaped(one), unshaped(other)
    return one is other or same_tensor(one, other) or (one.view is other.view is View.NONE and one.contiguous)


def _is_trained(m: Trace, tensor: Tensor) -> bool:
    """Whether a tensor is a parameter, the gradient of one, or a running statistic."""
    by_training = any(event.written.op == "batch_norm" for event in since(m, tensor, 0))
    return by_training or _is_gradient(m, tensor) or is_parameter(m, tensor)


def _is_gradient(m: Trace, tensor: Tensor) -> bool:
    """Whether autograd added to a tensor: the parameter holds it, so an attribute is its second holder."""
    return any(event.form == "accumulate" for event in since(m, tensor, 0))


@dataclass(frozen=True, slots=True)
class _Taken:
    """When the two operands of an expression took their tensors: 0 if the text doesn't tell.

    ``times`` also says whether an attribute took the tensor: it may be meant as its present value as well.
    ``made_here``: whether an operand was made by a method that is called here. ``bound``: the newer variable was bound
    to the older one, and keeps what both were then: ``before = new``.
    """

    times: Sequence[tuple[int, bool]]
    made_here: Sequence[bool]
    bound: bool = False


def _taken(m: Trace, site: Site, tensors: Sequence[Tensor], apart: bool) -> _Taken:
    """Return when two operands took their tensors; 1 for both if they are spelled alike, or with no variable.

    What the text doesn't tell of an element, such as ``before["weight"]``, the value may: when ``detach()`` made it.
    ``apart``: the two are to have different values, so that a dictionary counts as a variable that has the element.
    """
    from ..program.operands import operands
    from ..program.wording import binds

    found, frame = operands(site.expression), m.stack.frames[-1]
    if found is None:
        return _Taken(((1, False), (1, False)), (False, False))
    if found[0].name == found[1].name and isinstance(m.see(frame.vars.get(found[0].name, NONE)), Tensor):
        return _Taken(((1, False), (1, False)), (False, False))  # parts of one: ``x[:, None] - x``
    times = [_time_of(m, frame, each, tensor, apart) for each, tensor in zip(found, tensors, strict=True)]
    made_here = [operand.called for operand in found]
    before = 0 < min(tensor.time for tensor in tensors) < frame.born  # `old["w"].flatten()`: detached by a caller
    if not any(time for time, _ in times) and (before or not any(made_here)):
        times = [(tensor.time, False) for tensor in tensors]
    if frame.function is None or any(attribute or not time for time, attribute in times) or times[0] == times[1]:
        return _Taken(times, made_here)
    older, newer = sorted((0, 1), key=times.__getitem__)
    return _Taken(times, made_here, binds(m.text.body(frame.function)[0], found[newer].name, found[older].name))


def _stored(m: Trace, owner: Value, tensor: Tensor, apart: bool) -> int:
    """Return since when a dictionary has a tensor: ``metric.count - before["count"]``. 0 if it isn't known.

    Of gradients it is asked whatever the holder: ``grad - state["previous"]``, where ``state`` is in an optimizer.
    """
    every = m.state[STORED].items() if _is_gradient(m, tensor) else ()
    times = [abs(time) for (holder, storage), time in every if storage is tensor.storage and isinstance(holder, Dict)]
    if len(times) != 1 and apart and isinstance(owner, Dict):
        return abs(m.state[STORED].get((owner, tensor.storage), 0)) or owner.time
    return times[0] if len(times) == 1 else 0


def _time_of(m: Trace, frame: Frame, operand: Operand, tensor: Tensor, apart: bool) -> tuple[int, bool]:
    name, path = operand.name, operand.path
    if name in frame.elements or name not in frame.vars:
        return 0, False
    owner = m.see(frame.vars[name])
    if path is None:
        return _stored(m, owner, tensor, apart), False
    if not path:  # `buffer.first()` takes something out of an instance, and doesn't tell when the tensor was bound
        return (0 if isinstance(owner, Object) else frame.bound(name)), False
    for attribute in path[:-1]:
        owner = m.see(m.state.get(owner).items.get(attribute, NONE)) if isinstance(owner, Object) else NONE
    writer = m.state[ATTRIBUTE_WRITERS].get((owner, path[-1])) if isinstance(owner, Object) else None
    return (writer[1], True) if writer is not None else (0, True)
