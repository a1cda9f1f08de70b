"""Stale reads: a value is read after it was overwritten under another name. No version counter notices.

A *holder* (variable, attribute, element of a container, operand, yielded value) takes a tensor at a time. If the tensor
is overwritten later, and then read through the holder, the read is stale.
"""

from __future__ import annotations

from typing import NamedTuple

from ..heap.autograd import compatible
from ..heap.regions import is_base, plain, same_tensor, share, unshaped
from ..heap.values import (
    ALWAYS,
    NONE,
    UNCERTAIN,
    Array,
    Choice,
    Guard,
    Source,
    Tensor,
    Value,
    View,
    constant,
)
from ..program.units import Triggers
from ..rule import Rule
from ..torchfacts import arrays
from ..trace import events
from ..trace.frames import Frame
from ..trace.log import (
    RETURNED,
    USED,
    WRITES,
    Overwrite,
    again,
    array_backing,
    attributes_bound,
    direct_tensors,
    since,
    whole,
)
from ..trace.reports import Need
from ..trace.trace import Trace
from .intent import assigned_from, is_for_base, is_meant, is_window
from .known import gets_the_same, is_looked_up
from .overlap import untouched, written_region

_CODE, _NAME, _SUMMARY = "TIP303", "stale-read", "a value is read after it was overwritten under another name"
_ALSO = (
    Rule(
        _CODE,
        _NAME,
        _SUMMARY,
        "tied",
        "overwrites a tied weight",
        other="values set",
        effect="silently wrong",
        advice="initialise it before the values are set, or tie the weights afterwards",
        silent=True,
        at_run_time=False,
    ),
    Rule(
        _CODE,
        _NAME,
        _SUMMARY,
        "shared",
        "overwrites a value that is made once",
        other="defined",
        effect="silently wrong",
        advice="make a new one each time, or work on a `clone()`",
        silent=True,
        at_run_time=False,
    ),
    Rule(
        _CODE,
        _NAME,
        _SUMMARY,
        "keyed",
        "overwrites a value in use",
        other="stored under a second key",
        effect="silently wrong",
        advice="keep a `clone()`",
        silent=True,
        at_run_time=False,
    ),
    Rule(
        _CODE,
        _NAME,
        _SUMMARY,
        "handed",
        "overwrites a value in use",
        other="handed out",
        effect="silently wrong",
        advice="keep a `clone()`",
        silent=True,
        at_run_time=False,
    ),
)
RULES = (
    Rule(
        _CODE,
        _NAME,
        _SUMMARY,
        "read",
        "overwrites a value in use",
        other="read as {name}",
        effect="silently wrong",
        advice="keep a `clone()`",
        silent=True,
        at_run_time=False,
        also=_ALSO,
    ),
)
TRIGGERS = Triggers(names=arrays.READING)


@events.read_variable.listen
def read_name(m: Trace, name: str, value: Value, frame: Frame, index: tuple[Value, ...]) -> None:
    """Report the read of a variable, or of its elements at ``index``, if they were overwritten since it was bound."""
    options = value.options if isinstance(value, Choice) else ((ALWAYS, value),)
    for guard, option in options:
        reader = m.see(option)
        tensor = array_backing(reader)
        if isinstance(tensor, Tensor):
            _read_name(m, name, reader, tensor, frame, index, guard)


@events.read_item.listen
def read_item(m: Trace, name: str, value: Value, frame: Frame) -> None:
    """Report the read of an element of a tuple that was overwritten since the variable was bound: it has no other.

    Whoever has taken it out, ``h = state[0]``, may write to the state by that name.
    """
    tensor, bound = array_backing(value), frame.bound(name)
    if not isinstance(tensor, Tensor):
        return
    for event in since(m, tensor, bound):
        if frame is event.frames[-1] and event.name in frame.vars and frame.bound(event.name) >= bound:
            return
    read_name(m, name, value, frame, ())


def _read_name(
    m: Trace, name: str, reader: Value, value: Tensor, frame: Frame, index: tuple[Value, ...], guard: Guard
) -> None:
    path = m.state.guard()
    for event in since(m, value, frame.held(name, guard, path)):
        here = frame is event.frames[-1] or _is_by_closure(m, event, frame)
        used = here and event.written.array and isinstance(reader, Array)
        own = here and event.name in ("", name) and is_meant(m, event, name, frame)
        if own and not used:
            continue  # as most writes, so this is asked first
        if not compatible(event.guard, guard) or event.time < (bound := frame.held(name, guard | event.guard, path)):
            continue
        if used:
            m.state.set(m.state[USED], event, m.tick())
        if own:
            continue
        if (column := column_of(value, event.tensor)) is not None:
            _judge_column(m, index == (column,), event, frame)
            continue
        read = _Read(name, reader, value, frame, index, bound)
        if here:
            _judge_in_function(m, read, event)
        elif frame in event.frames and _runs(m, frame) and not is_looked_up(m, index, event):
            _judge_after_call(m, read, event)


def _is_by_closure(m: Trace, event: Overwrite, frame: Frame) -> bool:
    """Whether a function that stands in the one of a frame made a write, to a tensor that it has from there."""
    inner, storage = event.frames[-1], event.tensor.storage
    if not inner.is_inside(frame):
        return False
    defaults = inner.function.defaults.values() if inner.function is not None else ()
    given = [each.storage for value in (*inner.given, *defaults) for each in direct_tensors(m, value)]
    return storage not in given


def _runs(m: Trace, frame: Frame) -> bool:
    """Whether the running function is that of a frame, or stands in it."""
    return bool(m.stack.frames) and m.stack.frames[-1].is_inside(frame)


class _Read(NamedTuple):
    """The read of a variable: of ``value``, which ``reader`` is or is backed by, at an index or as a whole.

    ``bound`` is when ``frame`` bound the variable.
    """

    name: str
    reader: Value
    value: Tensor
    frame: Frame
    indices: tuple[Value, ...]
    bound: int


def _judge_in_function(m: Trace, read: _Read, event: Overwrite) -> None:
    """Report a read if the function that reads has overwritten the value by another name."""
    value, name, frame = read.value, read.name, read.frame
    if _is_filled_through(read.reader, value, event) or is_window(read.reader, event, name, frame):
        return
    if read.indices and untouched(m, value, read.indices, event):
        return
    wrote = whole(value, event) or (event.name != name and is_part(m, value, event, frame))
    wrote = wrote or (_is_of_part(value) and takes_what_was_written(m, value, event))
    wrote = wrote or (_is_column(value) and same_tensor(value, event.tensor))
    needs = () if wrote else _to_be_same(value, event)
    meant = is_meant(m, event, name, frame) or gets_the_same(m, value, event, name, frame)
    if (wrote or needs) and not meant and not is_for_base(m, read.reader, event, name, frame):
        m.refuse("read", event.site, guard=event.guard, needs=needs)


def column_of(table: Tensor, written: Tensor) -> Value | None:
    """Return the name of the column of a table of pandas that a write went to; None if it went to rows of it."""
    while written.region is not None:
        index = written.region.index
        written = written.region.base
        if len(index) == 1 and type(constant(index[0])) is str and same_tensor(written, table):
            return index[0]
    return None


def _is_column(tensor: Tensor) -> bool:
    region = tensor.region
    return region is not None and column_of(region.base, tensor) is not None


def _judge_column(m: Trace, read: bool, event: Overwrite, frame: Frame) -> None:
    """Report the read of a column of a table after an array over it was overwritten, here or in a call."""
    if read and (frame is event.frames[-1] or m.state[RETURNED].get(event) is not None):
        needs = (Need("pandas"),) if event.written.array else ()  # later, a column shows no write to another object
        m.refuse("read" if frame is event.frames[-1] else "argument", event.site, guard=event.guard, needs=needs)


def _judge_after_call(m: Trace, read: _Read, event: Overwrite) -> None:
    """Report a read if a function that was called overwrote the value, as an argument or by a name of its own."""
    value, frame = read.value, read.frame
    if was_given(m, value, event) or (not read.indices and has_part(m, value, event)):
        m.refuse("argument", event.site, guard=event.guard, needs=_to_be_given(value, event))
    elif event.counter is value.storage and (
        _is_detached(m, value, event, frame)
        or (read.name in frame.times and overlaps(value, event) and again(m, event, read.bound))
    ):
        m.refuse("read", event.site, guard=event.guard)


def _is_filled_through(reader: Value, value: Tensor, event: Overwrite) -> bool:
    """Whether memory that was only allocated is filled as an array and read as a tensor, or the other way round."""
    return value.origin is Source.BLANK and isinstance(reader, Array) is not event.written.array


def is_part(m: Trace, value: Tensor, event: Overwrite, frame: Frame) -> bool:
    """Whether a part of a tensor was overwritten by a name for the whole: ``y[:2].zero_()``, where ``y`` is ``x``.

    A name for a view, ``y = x[:]``, says that ``x`` is meant.
    """
    if event.tensor.region is None:
        return False
    names = [m.see(frame.vars.get(event.name, NONE))] if event.name else attributes_bound(m, frame, 0)
    spelled = [tensor for each in names if isinstance(tensor := array_backing(each), Tensor)]
    return any(each is value or (each.region is None and same_tensor(each, value)) for each in spelled)


def _is_of_part(value: Tensor) -> bool:
    """Whether a view takes a part. A name for a view of the whole, ``y = x[:]`` or ``y = x.T``, is meant as one."""
    return value.region is not None and not value.region.reshaped and bool(plain(value.region.index))


def takes_what_was_written(m: Trace, value: Tensor, event: Overwrite) -> bool:
    """Whether a view takes what ``x[index] = ...`` overwrote, by the same index: ``row = x[i]``.

    ``x[i] = row`` changes nothing.
    """
    over = written_region(event)
    if value.region is None or over is None or not same_tensor(value.region.base, over[0]):
        return False
    if any(option is value for new in event.written.values for option in direct_tensors(m, new)):
        return False
    return plain(value.region.index) == plain(over[1])


def overlaps(value: Tensor, event: Overwrite) -> bool:
    """Whether a tensor, or a view, surely has elements of what was overwritten: ``buffer[:n]`` and ``buffer[:k]``."""
    if value.view is View.NONE:
        return True
    value, over = unshaped(value), written_region(event)
    if value.region is None or over is None or not same_tensor(value.region.base, over[0]):
        return False
    return bool(plain(value.region.index)) and share(value.region.index, over[1])


def _to_be_same(value: Tensor, event: Overwrite) -> tuple[Need, ...]:
    """Return what must hold for a tensor to be the one that was overwritten, if ``contiguous()`` is between them."""
    both = (value, event.tensor)
    unsure = [each for each in both if each.origin is Source.MAYBE_SAME]
    if all(each in unsure or (each.view is View.NONE and each.origin not in UNCERTAIN) for each in both):
        return tuple(Need("same", each.place) for each in unsure if each.view in (View.NONE, View.NO_GRAD))
    return ()


def _to_be_given(value: Tensor, event: Overwrite) -> tuple[Need, ...]:
    """Return what must hold for an argument to be what a function overwrote: ``to()`` made no copy of it."""
    written = event.tensor
    unsure = written is not value and written.origin is Source.MAYBE_SAME
    return (Need("same", written.place),) if unsure else ()


def _is_detached(m: Trace, value: Tensor, event: Overwrite, frame: Frame) -> bool:
    """Whether a variable has the ``detach()`` of a tensor that a called function overwrote without being given it.

    Without ``detach()``, a name for memory that others fill may be meant to show what they fill it with.
    """
    inner = event.frames[event.frames.index(frame) + 1]
    given = [tensor for argument in inner.given for tensor in direct_tensors(m, argument)]
    apart = value.time and value.cell is not event.tensor.cell and value.storage is event.tensor.storage
    return bool(apart) and value.origin not in UNCERTAIN and all(each.storage is not value.storage for each in given)


def has_part(m: Trace, value: Tensor, event: Overwrite) -> bool:
    """Return whether a function got a view of a tensor, and all later writes to its memory are in such calls.

    ``x[i] = f(x[i])`` is meant to change ``x``.
    """
    given = m.state[RETURNED].get(event)
    if given is None or given.view is View.NONE or given.storage is not value.storage:
        return False
    if value.view is not View.NONE and not _lies_within(given, value):
        return False
    return all(m.state[RETURNED].get(later) is not None for later in since(m, value, event.time))


def _lies_within(part: Tensor, whole: Tensor) -> bool:
    """Whether a view was taken of another one: ``x[0][i]`` of ``x[0]``."""
    while part.region is not None and part.region.base is not whole:
        part = part.region.base
    return part.region is not None and part.origin not in UNCERTAIN


def was_given(m: Trace, value: Tensor, event: Overwrite) -> bool:
    """Return whether a tensor is the argument of the function that overwrote it: the same view, or the same base."""
    given = m.state[RETURNED].get(event)
    return given is not None and (value is given or (is_base(value) and is_base(given)))


@events.read_operand.listen
def read_operand(m: Trace, value: Value, time: int, named: bool) -> None:
    """Report an operand, evaluated at ``time``, that another operand of the same expression has overwritten since.

    An operand without a name of its own counts if it is a view, ``x[0] * torch.sigmoid_(x)``, or if both are the buffer
    of a function that reuses it: ``smooth(x) - smooth(y)``.
    """
    value = array_backing(value)
    if isinstance(value, Tensor):
        for event in since(m, value, time):
            same = value.region is not None and same_tensor(value, event.tensor) and event.written.index is None
            if same or _is_within(value, event) or (whole(value, event) and (named or again(m, event, time))):
                m.refuse("read", event.site, guard=event.guard)


def _is_within(value: Tensor, event: Overwrite) -> bool:
    """Return whether a value is a view of a base that was overwritten as a whole."""
    base = event.tensor
    seen = value.view in (View.ORDINARY, View.NO_GRAD)
    if event.written.index is not None or not seen or base.view is not View.NONE:
        return False
    return value.origin not in UNCERTAIN and base.origin not in UNCERTAIN


@events.bind.listen
def on_bind(m: Trace, frame: Frame, name: str, value: Value) -> None:
    """Judge a variable that is bound to the tensor it is already bound to, not by ``x = f_(x)``."""
    if m.state[WRITES] and frame.vars.get(name) is value and name not in assigned_from(frame):
        judge_rebinding(m, value, frame.bound(name))


def judge_rebinding(m: Trace, value: Value, time: int) -> None:
    """Report a variable that is rebound, on one branch, to the tensor that it has held since ``time``.

    In ``y = f_(x)``, ``if better: x = y``, a function overwrote ``x`` and returned it, so the other branch has no old
    value either.
    """
    if not isinstance(value, Tensor):
        return
    guard = m.state.guard()
    for event in since(m, value, time):
        if was_given(m, value, event) and event.guard < guard:
            m.refuse("argument", event.site, guard=event.guard)
