"""Stale reads through containers: an element of a list or a dictionary was overwritten since it was put there."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations

from ..heap.autograd import compatible
from ..heap.regions import base_of, same_tensor, unshaped
from ..heap.state import Declared, latest, same_or_none
from ..heap.values import (
    NONE,
    UNCERTAIN,
    Attributes,
    Choice,
    Dict,
    Grad,
    Guard,
    List,
    Object,
    Source,
    Storage,
    Tensor,
    Tuple,
    Value,
    View,
)
from ..trace import events
from ..trace.callables import Partial
from ..trace.frames import Function
from ..trace.log import (
    ATTRIBUTE_WRITERS,
    ENTRIES,
    GRADIENTS,
    PLACES,
    RETURNED,
    STORED,
    WRITES,
    Change,
    Overwrite,
    again,
    array_backing,
    direct_tensors,
    given_tensors,
    is_record,
    lies_in,
    since,
    spelled,
    whole,
)
from ..trace.trace import Trace
from .arguments import is_in_copy
from .changes import is_aside
from .first_reads import is_emptied
from .handed_out import goes_on
from .intent import attribute_written
from .known import is_of_call, is_result
from .overlap import written_region
from .snapshots import Update, may_be_copy, updates_of
from .stale import is_part, overlaps, takes_what_was_written, was_given
from .stale_parts import read_part_of
from .taken_out import MOVABLE, WRITTEN_IN

APPENDED: Declared[tuple[object, Storage], int] = Declared(latest)
"""When a list first got a tensor that it may still have, by the list and the memory."""
APPENDED_VIEWS: Declared[tuple[object, Tensor], int] = Declared(latest)
"""When a list got a view, by the list and the view."""
STORED_UNDER: Declared[tuple[List, Storage], Guard | None] = Declared(same_or_none)
"""The guard of the path on which a list got a tensor; None if there are several."""


@events.store.listen
def on_store(m: Trace, container: List | Dict, value: Value) -> None:
    """Note when a tensor was put into a container.

    Parameters and memory that nothing was written to yet don't count: they are stored for later writes.
    """
    value = array_backing(m.see(value))
    for item in value.items if isinstance(value, Tuple) and isinstance(container, List) else ():
        on_store(m, container, item)
    if isinstance(value, Choice):
        _note_one_of(m, container, value)
    if not isinstance(value, Tensor) or (value.origin is Source.BLANK and value.storage not in m.state[WRITES]):
        return
    state = m.cell(value)
    if state.grad is Grad.YES and state.leaf:
        return
    before = m.state[STORED].get((container, value.storage), 0)
    if before <= 0 or isinstance(container, Dict) or not since(m, value, before):
        m.state.set(m.state[STORED], (container, value.storage), m.tick())
        if isinstance(container, List):
            m.state.set(m.state[STORED_UNDER], (container, value.storage), m.state.guard())


def _note_one_of(m: Trace, container: List | Dict, value: Choice) -> None:
    """Note that a container has one of several tensors from now on: what was written to them before, it got so."""
    for tensor in [tensor for tensor in direct_tensors(m, value) if (container, tensor.storage) not in m.state[STORED]]:
        m.state.set(m.state[STORED], (container, tensor.storage), -m.tick())


@events.append.listen
def on_append(m: Trace, container: List, value: Value) -> None:
    """Report a tensor, or a record with it, that is appended again after a write: both elements show the write."""
    _judge_added(m, container, value, m.state.get(container).items)


@events.replace.listen
def on_replace(m: Trace, container: List, where: int, value: Value) -> None:
    """Report a tensor that is put into a list again after a write, at another position: ``slots[t] = state``.

    What moves within the list, ``rows[0], rows[1] = rows[1], rows[0]``, is there twice for a moment only.
    """
    items, value = m.state.get(container).items, array_backing(m.see(value))
    others = (*items[:where], *items[where + 1 :])
    if isinstance(value, Tensor):
        moves = container in m.state[MOVABLE].get(value.storage, frozenset())
    else:
        moves = any(m.see(other) is value for other in others)
    if not moves:
        _judge_added(m, container, value, others)


def _judge_added(m: Trace, container: List, value: Value, others: Sequence[Value]) -> None:
    """Judge a value that a list gets beside other elements."""
    for key, item in entries(m, array_backing(m.see(value))).items():
        part = array_backing(m.see(item))
        if isinstance(part, Tensor):
            _judge_again(m, container, key, part, item, others)
            if (source := _original(m, part)) is not None:
                _judge_again(m, container, key, source, source, others)
        judge_snapshots(m, others, key, part)
        _judge_gradients(m, container, key, part)
        on_store(m, container, part)
        if isinstance(part, Tensor):
            if (container, part.storage) not in m.state[APPENDED]:
                m.state.set(m.state[APPENDED], (container, part.storage), m.tick())
            if part.region is not None:
                m.state.set(m.state[APPENDED_VIEWS], (container, part), m.tick())


def _original(m: Trace, tensor: Tensor) -> Tensor | None:
    """Return ``x`` if a tensor is ``x.clone()``: what has ``x`` already was to have a copy of that, too."""
    source = m.see(tensor.made.values[0]) if tensor.made is not None and tensor.made.op == "clone" else NONE
    return source if isinstance(source, Tensor) else None


def _judge_again(
    m: Trace, container: List, key: tuple[Hashable, ...], part: Tensor, item: Value, others: Sequence[Value]
) -> None:
    """Report a write to a tensor since a list got it, or a part of its buffer, which the list gets again."""
    time = _held_since(m, container, part, item)
    writes = since(m, part, time) if time else ()
    held = [array_backing(m.see(entries(m, m.see(other)).get(key, NONE))) for other in others if writes]
    same = any(is_same(m, other, part) for other in held)
    for event in writes:
        refilled = (_is_refilled(m, container, other, event, time) for other in held)
        if (same and surely_changes(part, event)) or any(refilled):
            m.refuse("read", event.site, guard=event.guard)


@events.method.listen
def on_method(m: Trace, instance: Object, had: Attributes, begin: int) -> None:
    """Report a tensor of an instance that a method overwrites, and puts into a list of the instance.

    The next call overwrites it in the list: ``self.total += x``, ``self.history.append(self.total)``.
    """
    has = m.state.get(instance).items
    kept = [m.see(value) for name, value in has.items() if had.items.get(name) is value] if m.state[APPENDED] else []
    lists = [value for value in kept if isinstance(value, List)]
    for part in [part for part in map(array_backing, kept) if isinstance(part, Tensor)]:
        given = [each for each in lists if m.state[APPENDED].get((each, part.storage), 0) > begin]
        items = [item for each in given for item in m.state.get(each).items]
        if any(is_same(m, entry, part) for item in items for entry in entries(m, m.see(item)).values()):
            for event in since(m, part, begin):
                if surely_changes(part, event):
                    m.refuse("read", event.site, guard=event.guard)


def _is_refilled(m: Trace, container: List, element: Value, event: Overwrite, time: int) -> bool:
    """Whether an element is a part of a buffer that a function uses again: ``self.pad[:n]``, of another length."""
    if not isinstance(element, Tensor) or not 0 < m.state[APPENDED_VIEWS].get((container, element), 0) < event.time:
        return False
    return (overlaps(element, event) or surely_changes(element, event)) and again(m, event, time)


def surely_changes(part: Tensor, event: Overwrite) -> bool:
    """Whether a write surely changes a part: it went to all or elements of it, or to all of what it is a view of."""
    part_of, written = unshaped(part), unshaped(event.tensor)
    if whole(part_of, event) or same_tensor(part_of, written) or lies_in(part, event):
        return True
    base = part.region
    while base is not None and not same_tensor(base.base, event.tensor):
        base = base.base.region
    return base is not None and event.written.index is None


def _held_since(m: Trace, container: List, part: Tensor, item: Value) -> int:
    """Return when a list got a tensor: also that of a display, ``[x]``. 0 if it has none."""
    stored = m.state[STORED].get((container, part.storage), 0)
    held = stored if stored > 0 else m.state[APPENDED].get((container, part.storage), 0)
    return held or (container.time if item in container.initial.items else 0)


def is_same(m: Trace, value: Value, part: Tensor) -> bool:
    """Whether an element of a list is a tensor, if it is in the list on the path that appended one."""
    found = direct_tensors(m, value) if not isinstance(m.see(value), Tuple) else []
    return bool(found) and all(same_tensor(unshaped(each), unshaped(part)) for each in found)


def judge_snapshots(m: Trace, held: Iterable[Value], key: tuple[Hashable, ...], part: Value) -> None:
    """Report ``history.append(w.detach())``, or a ``state_dict()``, appended again after an update of the memory.

    So is ``kept["before"] = w.detach()``, if a second key gets it after an update. ``held`` is what is there already.
    """
    part = unshaped(part) if isinstance(part, Tensor) else part
    if not isinstance(part, Tensor) or not part.time or part.view is not View.NONE or may_be_copy(m, part):
        return
    memory = part.storage.memory
    for other in held:
        kept = array_backing(entries(m, m.see(other)).get(key, NONE))
        before = unshaped(kept) if isinstance(kept, Tensor) else kept
        if not isinstance(before, Tensor) or not 0 < before.time < part.time:
            continue
        if before.storage.memory is memory:
            changes: list[Update | Overwrite] = [*updates_of(m, memory, before.time)]
            if part.origin not in UNCERTAIN:  # `cpu()` copies what the program has put on a device
                changes += since(m, Tensor(memory), before.time)
            for change in changes:
                if change.site is not None and change.time < part.time:
                    m.refuse("read", change.site)


def _judge_gradients(m: Trace, container: List, key: tuple[Hashable, ...], part: Value) -> None:
    """Report ``history.append(w.grad)``, appended for the same ``w`` again, of a gradient overwritten in between."""
    of = m.state[GRADIENTS].get(part) if isinstance(part, Tensor) and m.state[GRADIENTS] else None
    for other in m.state.get(container).items if of is not None else ():
        before = entries(m, m.see(other)).get(key, NONE)
        if isinstance(before, Tensor) and before is not part and m.state[GRADIENTS].get(before) is of:
            for event in since(m, before, abs(m.state[STORED].get((container, before.storage), m.clock))):
                if whole(before, event):
                    m.refuse("read", event.site, guard=event.guard)


@events.returns.listen
def on_return(m: Trace, args: Sequence[Value], result: Value, born: int, used: bool) -> None:
    """Report two lists of the same gradients that a function was given, if a backward ran after it took the first.

    For example ``cosine(first, second)``, where both are ``[p.grad for p in model.parameters()]``.
    """
    given = [value for value in map(m.see, args) if isinstance(value, List)] if m.state[GRADIENTS] else []
    for one, other in combinations(dict.fromkeys(given), 2):
        for new, old in zip(given_tensors(m, one, NONE, 1), given_tensors(m, other, NONE, 1), strict=False):
            begin, end = sorted(m.state[APPENDED].get((each, old.storage), 0) for each in (one, other))
            for event in since(m, old, begin) if begin and new.storage is old.storage else ():
                if event.form == "accumulate" and event.time < end:
                    m.refuse("read", event.site, guard=event.guard)
                    return


def entries(m: Trace, value: Value, place: tuple[Hashable, ...] = ()) -> dict[tuple[Hashable, ...], Value]:
    """Return the entries of a sequence, dictionary or dataclass by their position in it, or the value alone.

    What is there on one path only, ``if epoch >= start: history.append(...)``, counts as there, and so does what is
    None on the others.
    """
    there = [option for _, option in value.options if m.see(option) != NONE] if isinstance(value, Choice) else []
    if len(there) == 1:
        value = m.see(there[0])
    inside = _inside(m, value)
    if inside is None:
        return {place: value}
    found: dict[tuple[Hashable, ...], Value] = {}
    for key, item in inside if len(place) < PLACES else ():
        found |= entries(m, m.see(item), (*place, key))
    return found


def _inside(m: Trace, value: Value) -> Iterable[tuple[Hashable, Value]] | None:
    """Return what a value holds: also what a partial call, or a function by a default, was given when it was made."""
    if isinstance(value, Tuple):
        return enumerate(value.items)
    if isinstance(value, List):
        return enumerate(m.state.get(value).items[:ENTRIES])
    if isinstance(value, Dict) or (isinstance(value, Object) and is_record(value)):
        return m.state.get(value).items.items()
    if isinstance(value, Partial):
        return (*enumerate(value.args), *value.kwargs.items())
    if isinstance(value, Function) and value.defaults:
        return value.defaults.items()
    return () if isinstance(value, Object) else None


@events.pass_on.listen
def on_pass_on(m: Trace, source: Value, container: List | Dict, values: Iterable[Value]) -> None:
    """Copy the times of values that are copied from one container to another."""
    source = m.see(source)
    for value in [array_backing(m.see(value)) for value in values] if m.state[STORED] else ():
        if not isinstance(value, Tensor):
            continue
        if (time := m.state[STORED].get((source, value.storage), 0)) > 0:
            m.state.set(m.state[STORED], (container, value.storage), time)
        if appended := m.state[APPENDED].get((source, value.storage), 0):
            m.state.set(m.state[APPENDED], (container, value.storage), appended)


@events.load.listen
def on_load(m: Trace, container: List | Dict, value: Value, known: bool) -> None:
    """Report the read of an element that was overwritten since it was stored.

    If the program may have a name for it from now on (``known``), later writes may be intended and are not reported.
    """
    value = array_backing(value)
    if isinstance(value, Tuple) and (len(m.state[STORED]) or len(m.state[WRITES])):
        for item in map(m.see, value.items):
            on_load(m, container, item, known)
        return
    if is_result(m, container):
        return
    read_part_of(m, value, container)
    options = [array_backing(option) for _, option in value.options] if isinstance(value, Choice) else [value]
    for option in options if len(m.state[STORED]) or len(m.state[WRITES]) else ():
        if not isinstance(option, Tensor):
            continue
        stored = m.state[STORED].get((container, option.storage), 0)
        time = max(0, stored)
        for event in since(m, option, abs(stored) or container.time) if option is value else ():
            judge_element(m, container, option, event, time, known)
        if time and known:
            m.state.set(m.state[STORED], (container, option.storage), -time)


def judge_element(m: Trace, container: List | Dict, value: Tensor, event: Overwrite, time: int, known: bool) -> None:
    """Report a write to an element that was stored at ``time``, or at a time that is not known (0)."""
    inner = event.frames[-1]
    own = spelled(m, event) is container or container in m.state[WRITTEN_IN].get(event.time, ())
    taken_out = m.state[RETURNED].get((Change.OTHER, event)) is not None and bool(time or container.time)
    taken_out = taken_out and not is_of_call(m, container, event) and not is_aside(m, value, event)
    if own and is_in_copy(m, event, inner.given):
        return
    if isinstance(container, List) and time:
        under = m.state[STORED_UNDER].get((container, value.storage))
        if under is not None and not compatible(under, event.guard):
            return  # on the path of the write, the list has not got the tensor
    if (time and was_given(m, value, event)) or taken_out:
        m.refuse("argument", event.site, guard=event.guard)
    elif own:
        return  # what a write to the elements of a list is for: ``torch._foreach_add_(totals, values)``
    elif known and _is_kept(m, container, value, event, time):
        m.refuse("read", event.site, guard=event.guard)


def _is_kept(m: Trace, container: List | Dict, value: Tensor, event: Overwrite, time: int) -> bool:
    """Whether an element is in its container for the values that it had before a write."""
    if time:
        return _same_part(m, value, event, time) or _as_it_was(m, container, value, event, time)
    return isinstance(container, List) and _is_total_of_display(m, container, value, event)


def _as_it_was(m: Trace, container: List | Dict, value: Tensor, event: Overwrite, time: int) -> bool:
    """Return whether a tensor that was stored at ``time`` was stored for its values of that time.

    So was a view, if its base was filled further since the list was made: the list collects what is there each time.
    """
    if base_of(value).origin not in (Source.COMPUTED, Source.BLANK):
        return False
    emptied = is_emptied(m, event, m.stack.frames[-1]) and not since(m, value, event.time)
    if value.origin in (Source.COMPUTED, Source.BLANK) and whole(value, event):
        return emptied or _unaware(m, event, time)
    return emptied and bool(since(m, value, container.time, time)) and surely_changes(value, event)


def _is_total_of_display(m: Trace, container: List, value: Tensor, event: Overwrite) -> bool:
    """Whether an attribute took an element of a list display, and then adds others of it: ``self.total = loss``."""
    shown, made, time = container.initial.items, value.made, container.time
    added = [each for new in event.written.values for each in direct_tensors(m, new)]
    if made is None or made.time > time or not any(each in shown and each is not value for each in added):
        return False
    computed = value in shown and value.origin is Source.COMPUTED
    return computed and whole(value, event) and _is_adopted(m, event, time)


def _same_part(m: Trace, value: Tensor, event: Overwrite, time: int) -> bool:
    """Whether a part that was stored at ``time`` is what was overwritten: both are taken with the same index.

    A write to the whole base counts too, if a function that was called afterwards makes it: ``x *= 2``.
    """
    if value.region is None:
        return False
    if event.form == "augmented" and event.tensor.view is View.NONE and event.frames[-1].born > time:
        return bool(event.name)
    over = written_region(event)
    if event.frames[-1].born > time or over is None:
        return False
    spelled = event.written.index is not None or is_part(m, over[0], event, event.frames[-1])
    return spelled and takes_what_was_written(m, value, event)


@events.remove.listen
def on_remove(m: Trace, container: List | Dict, value: Value) -> None:
    """Forget when an element was stored that is removed from its container."""
    value = array_backing(m.see(value))
    if isinstance(value, Tensor) and (container, value.storage) in m.state[STORED]:
        m.state.set(m.state[STORED], (container, value.storage), 0)
        m.state.set(m.state[APPENDED], (container, value.storage), 0)


def _unaware(m: Trace, event: Overwrite, time: int) -> bool:
    """Return whether a write was not meant for the element of the container.

    Filling parts of a tensor in the function that reads the element is. So is a write of a function that has ended and
    did not use what it left: ``rows.append(x)``, ``x /= 2``.
    """
    if event.form == "subscript" and event.frames[-1] is m.stack.frames[-1]:
        return False
    own = isinstance(spelled(m, event), Tensor)
    finished = own and event.frames[-1] not in m.stack.frames and not goes_on(m, event)
    return (bool(event.name) and not finished) or again(m, event, time) or _is_adopted(m, event, time)


def _is_adopted(m: Trace, event: Overwrite, time: int) -> bool:
    """Whether a write is to an attribute that took the tensor after the list did: ``self.total = loss``."""
    owner, name = event.frames[-1].receiver, attribute_written(event)
    writer = m.state[ATTRIBUTE_WRITERS].get((owner, name)) if isinstance(owner, Object) else None
    return writer is not None and event.form in ("augmented", "op_") and time < writer[1] < event.time
