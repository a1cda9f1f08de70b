"""Stale reads: a value is read after it was overwritten under another name. No version counter notices.

A *holder* (variable, attribute, element of a container, operand, yielded value) takes a tensor at a time. If the tensor
is overwritten later, and then read through the holder, the read is stale.
"""

from __future__ import annotations

from ..heap.autograd import compatible
from ..heap.regions import is_base, plain, same_tensor, share, unshaped
from ..heap.state import Declared, latest
from ..heap.values import (
    ALWAYS,
    NONE,
    UNCERTAIN,
    Array,
    Choice,
    Dict,
    Grad,
    Guard,
    List,
    Object,
    Source,
    Tensor,
    Value,
    View,
    is_number,
)
from ..program.units import Triggers
from ..rule import Rule
from ..torchfacts import arrays
from ..trace import events
from ..trace.frames import Frame
from ..trace.log import (
    ATTRIBUTE_WRITERS,
    RETURNED,
    STORED,
    USED,
    WRITES,
    YIELDS,
    Change,
    Overwrite,
    again,
    array_backing,
    direct_tensors,
    fills,
    is_record,
    lies_in,
    since,
    whole,
)
from ..trace.reports import Need
from ..trace.trace import Trace
from .arguments import judge_handed_back
from .intent import assigned_from, attribute_written, is_for_base, is_meant, is_window
from .known import gets_the_same, is_looked_up, is_of_call, writes_the_same
from .moved_on import note_bound_again
from .overlap import untouched, written_region
from .snapshots import UPDATES

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
LAST_READ: Declared[tuple[Object, str], int] = Declared(latest)
"""When an attribute with a tensor was last read, by instance and name."""


@events.read_variable.listen
def read_name(m: Trace, name: str, value: Value, frame: Frame, index: tuple[Value, ...]) -> None:
    """Report the read of a variable, or of its elements at ``index``, if they were overwritten since it was bound."""
    options = value.options if isinstance(value, Choice) else ((ALWAYS, value),)
    for guard, option in options:
        reader = m.see(option)
        tensor = array_backing(reader)
        if isinstance(tensor, Tensor):
            _read_name(m, name, reader, tensor, frame, index, guard)


def _read_name(
    m: Trace, name: str, reader: Value, value: Tensor, frame: Frame, index: tuple[Value, ...], guard: Guard
) -> None:
    path = m.state.guard()
    for event in since(m, value, frame.held(name, guard, path)):
        here = frame is event.frames[-1]
        used = here and event.written.array and isinstance(reader, Array)
        own = here and (not event.name or (event.name == name and is_meant(m, event, name, frame)))
        if own and not used:
            continue  # as most writes, so this is asked first
        if not compatible(event.guard, guard) or event.time < (bound := frame.held(name, guard | event.guard, path)):
            continue
        if used:
            m.state.set(m.state[USED], event, m.tick())
        if own:
            continue
        if here:
            if _is_filled_through(reader, value, event) or is_window(reader, event, name, frame):
                continue
            if index and untouched(m, value, index, event):
                continue
            wrote = whole(value, event) or (event.name != name and is_part(m, value, event, frame))
            wrote = wrote or (_is_of_part(value) and takes_what_was_written(m, value, event))
            needs = () if wrote else _to_be_same(value, event)
            meant = is_meant(m, event, name, frame) or gets_the_same(m, value, event, name, frame)
            if (wrote or needs) and not meant and not is_for_base(m, reader, event, name, frame):
                m.refuse("read", event.site, guard=event.guard, needs=needs)
        elif frame in event.frames and frame in m.stack.frames[-1:] and not is_looked_up(m, index, event):
            if was_given(m, value, event) or (not index and _has_part(m, value, event)):
                m.refuse("argument", event.site, guard=event.guard, needs=_to_be_given(value, event))
            elif event.counter is value.storage and (
                _is_detached(m, value, event, frame)
                or (name in frame.times and overlaps(value, event) and again(m, event, bound))
            ):
                m.refuse("read", event.site, guard=event.guard)


def _is_filled_through(reader: Value, value: Tensor, event: Overwrite) -> bool:
    """Whether memory that was only allocated is filled as an array and read as a tensor, or the other way round."""
    return value.origin is Source.BLANK and isinstance(reader, Array) is not event.written.array


def is_part(m: Trace, value: Tensor, event: Overwrite, frame: Frame) -> bool:
    """Whether a part of a tensor was overwritten by a name for the whole: ``y[:2].zero_()``, where ``y`` is ``x``.

    A name for a view, ``y = x[:]``, says that ``x`` is meant.
    """
    spelled = array_backing(m.see(frame.vars.get(event.name, NONE)))
    if event.tensor.region is None or not isinstance(spelled, Tensor):
        return False
    return spelled is value or (spelled.region is None and same_tensor(spelled, value))


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


@events.read_part.listen
def read_part(m: Trace, value: Value) -> None:
    """Judge the read of an attribute or element of an unknown value."""
    read_part_of(m, value, None)


def read_part_of(m: Trace, value: Value, holder: Value | None, bound: int = 0) -> None:
    """Report the read of an element that other code can reach, after a function converted or marked it.

    For example ``batch["labels"]``. A write that takes in other tensors may be intended, such as blending a tile with
    the one before. So may marks in an element that has a name of its own, or is in a list. ``bound`` is when the
    attribute of a record was bound to it.
    """
    value = array_backing(value)
    if m.state[WRITES] and isinstance(value, Tensor) and m.stack.frames and not m.unread:
        frame = m.stack.frames[-1]
        held = abs(m.state[STORED].get((holder, value.storage), 0))
        made = holder.time if isinstance(holder, (List, Dict, Object)) else 0
        for event in since(m, value, max(held, made, bound, _yielded(m, value, holder))):
            if holder is not None:
                judge_handed_back(m, value, holder, event)
            converted = event.change is Change.CONVERTED and (was_given(m, value, event) or _has_part(m, value, event))
            changed = value is m.state[RETURNED].get((event.change, event)) and not _is_meant_for(holder, event, frame)
            if isinstance(holder, Dict):  # a state, if the call has added other tensors to it
                converted = converted and m.state[RETURNED].get((Change.CONVERTED, event)) is not None
            here = _goes_on(m, holder, event, bound) and not is_of_call(m, holder, event)
            if ((converted or changed) and here) or (converted and _had(frame, holder, event)):
                m.refuse("argument", event.site, guard=event.guard)


def _is_meant_for(holder: Value | None, event: Overwrite, frame: Frame) -> bool:
    """Whether a write that marks an element, or takes in other tensors, may be meant for who reads the container."""
    if event.change is Change.OTHER:
        state = isinstance(holder, Dict) and not all(map(is_number, event.written.values))
        return state or frame.function is event.frames[-1].function
    return event.change is Change.MARKED and isinstance(holder, List)


def _yielded(m: Trace, value: Tensor, holder: Value | None) -> int:
    """Return when a generator last yielded a value, if ``holder`` is the list of its values; else 0."""
    if not m.state[YIELDS] or not isinstance(holder, List):
        return 0
    found = m.state[YIELDS].get(holder, ())
    return max((one.time for one in found if value in direct_tensors(m, one.value)), default=0)


def _had(frame: Frame, holder: Value | None, event: Overwrite) -> bool:
    """Whether a function got a record or dictionary as an argument that it overwrote a value of in an earlier call."""
    earlier = [other for other in event.frames[:-1] if other.function is frame.function and other is not frame]
    both = (frame, *earlier[-1:])
    return bool(earlier) and all(holder in each.given and holder is not each.receiver for each in both)


def _goes_on(m: Trace, holder: Value | None, event: Overwrite, bound: int) -> bool:
    """Whether a caller of the function that overwrote a value reads it: itself, or what it gives the holder to.

    A function that binds an attribute to what it has written hands it on to the next call.
    """
    for frame in reversed(m.stack.frames):
        if frame in event.frames:
            return frame is not event.frames[-1] and not _is_newer(m, frame, holder, event)
        if holder is None or bound > event.time or all(m.see(value) is not holder for value in frame.given):
            return False
    return False


def _is_newer(m: Trace, frame: Frame, holder: Value | None, event: Overwrite) -> bool:
    """Whether a record was bound after a write: ``batch = batch.scaled()`` holds what the call has made."""
    if not isinstance(holder, Object):
        return False
    times = [frame.bound(name) for name, value in frame.vars.items() if m.see(value) is holder]
    return bool(times) and min(times) > event.time


@events.read_attribute.listen
def read_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Report the read of an attribute whose tensor was overwritten since it was bound.

    After ``self.features = x``, a following ``x = relu_(x)`` is hardly meant to change the attribute. But the method
    that bound it may fill parts of it, and code that has read it has a name for it and may change it on purpose.
    The method that bound ``self.returns = self.advantages`` doesn't mean the first by ``self.advantages -= values``.
    Nor does a program that updates either of two attributes, as if they were two tensors.
    """
    value, bound = array_backing(value), abs(m.state[STORED].get((instance, name), 0))
    if is_record(instance) or (m.state[WRITES] and isinstance(value, Tensor) and _is_named_apart(m, value, bound)):
        read_part_of(m, value, instance, bound)
    if isinstance(value, Tensor) and m.state[WRITES] and not m.unread:
        m.state.set(m.state[LAST_READ], (instance, name), m.tick())
    if m.unread or not isinstance(value, Tensor) or not m.state[STORED]:
        return
    time, writer = max(0, m.state[STORED].get((instance, name), 0)), m.state[ATTRIBUTE_WRITERS].get((instance, name))
    state = m.cell(value)
    if not (time or writer):
        return
    leaf = state.grad is Grad.YES and state.leaf  # a parameter, which is given its values where it is
    for event in since(m, value, time or (writer[1] if writer else 0)) if not leaf else ():
        here, other = writer is not None and event.frames[-1] is writer[0], attribute_written(event)
        apart = value.time and not fills(event.tensor, event.written)  # ``self.last = h.detach()``
        elsewhere = not here or apart or event.form in ("inplace", "augmented")
        by_name = time and elsewhere and event.name and not other and value.origin is not Source.BLANK
        by_attribute = here and event.form == "augmented" and other not in ("", name)
        by_twin = other not in ("", name) and _is_updated_apart(m, instance, value, event, name)
        if (by_name or by_attribute or by_twin) and whole(value, event):
            m.refuse("read", event.site, guard=event.guard)
        elif (
            m.stack.frames
            and m.stack.frames[-1] not in event.frames
            and (
                _was_given_no_state(m, value, event, name) or (_has_part(m, value, event) and not _ran_before(m, event))
            )
        ):
            m.refuse("argument", event.site, guard=event.guard)
    if time:
        m.state.set(m.state[STORED], (instance, name), -time)


def _is_named_apart(m: Trace, value: Tensor, time: int) -> bool:
    """Whether a function gave back what it has overwritten, and its caller has a name for that."""
    last = max((event.time for event in since(m, value, time)), default=0)
    if not last or not m.stack.frames:
        return False
    frame = m.stack.frames[-1]
    newer = [bound for name, bound in frame.vars.items() if frame.bound(name) > last]
    return any(tensor.storage is value.storage for bound in newer for tensor in direct_tensors(m, bound))


def _is_updated_apart(m: Trace, instance: Object, value: Tensor, event: Overwrite, name: str) -> bool:
    """Whether two attributes are one tensor, and the program updates it by both: ``self.mean = self.var = zeros``."""
    other = m.state.get(instance).items.get(attribute_written(event), NONE)
    writes = [each for each in m.state[WRITES].get(value.storage, ()) if attribute_written(each) == name]
    return m.see(other) is value and any(not writes_the_same(event, each) for each in writes)


def _was_given_no_state(m: Trace, value: Tensor, event: Overwrite, name: str) -> bool:
    """Whether a function was given an attribute and overwrote it: not a state that it scales or marks.

    ``self.state += x`` tells a state. A function that does not scale it has returned it, and its caller takes that.
    """
    if not was_given(m, value, event):
        return False
    writes = m.state[WRITES].get(value.storage, ())
    state = any(attribute_written(each) == name and not each.filled for each in writes)
    return not state or m.state[RETURNED].get((event.change, event)) is None


def _ran_before(m: Trace, event: Overwrite) -> bool:
    """Whether a write is one of an earlier call of the function that is running: TIP308 judges what runs twice."""
    function = m.stack.frames[-1].function
    return any(frame.function is function for frame in event.frames)


def _has_part(m: Trace, value: Tensor, event: Overwrite) -> bool:
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
        _judge_rebinding(m, value, frame.bound(name))


@events.set_attribute.listen
def on_set_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Note when an attribute is bound and by which frame. Judge one that is bound to the same tensor again."""
    note_bound_again(m, instance, name, value)
    if m.state[WRITES] and m.state.get(instance).items.get(name) is value:
        _judge_rebinding(m, value, abs(m.state[STORED].get((instance, name), 0)))
        _judge_renewal(m, instance, name, array_backing(value))
    if len(m.state[WRITES]) or len(m.state[UPDATES]) or isinstance(value, (Tensor, Array)):
        now = m.tick()
        m.state.set(m.state[STORED], (instance, name), now)
        if m.stack.frames:
            m.state.set(m.state[ATTRIBUTE_WRITERS], (instance, name), (m.stack.frames[-1], now))


def _judge_renewal(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Report what another object wrote to an attribute's memory before it was read, if the attribute is bound anew.

    ``self.last = state`` at each step says that the attribute has the state of that step, but the environment has one
    array for all.
    """
    writer, read = m.state[ATTRIBUTE_WRITERS].get((instance, name)), m.state[LAST_READ].get((instance, name), 0)
    if writer is None or not isinstance(value, Tensor):
        return
    for event in since(m, value, writer[1]):
        owner = event.frames[-1].receiver
        other = isinstance(owner, Object) and owner is not instance and bool(attribute_written(event))
        if event.time < read and other and (whole(value, event) or lies_in(value, event)):
            m.refuse("read", event.site, guard=event.guard)


def _judge_rebinding(m: Trace, value: Value, time: int) -> None:
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
