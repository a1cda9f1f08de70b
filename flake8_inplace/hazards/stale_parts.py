"""Stale reads of what other code can reach: an element that a function converted or marked before it returned."""

from __future__ import annotations

from ..heap.values import Dict, List, Object, Tensor, Value, is_number
from ..trace import events
from ..trace.frames import Frame
from ..trace.log import RETURNED, STORED, WRITES, YIELDS, Change, Overwrite, array_backing, direct_tensors, since
from ..trace.trace import Trace
from .arguments import judge_handed_back
from .intent import takes_part_only
from .known import is_of_call
from .stale import has_part, was_given


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
    if m.state[WRITES] and isinstance(value, Tensor) and m.stack.frames:
        frame = m.stack.frames[-1]
        held = abs(m.state[STORED].get((holder, value.storage), 0))
        made = holder.time if isinstance(holder, (List, Dict, Object)) else 0
        for event in since(m, value, max(held, made, bound, _yielded(m, value, holder))):
            if holder is not None:
                judge_handed_back(m, value, holder, event)
            converted = event.change is Change.CONVERTED and (
                was_given(m, value, event) or (has_part(m, value, event) and not takes_part_only(m))
            )
            changed = value is m.state[RETURNED].get((event.change, event)) and not _is_meant_for(holder, event, frame)
            if isinstance(holder, Dict):  # a state, if the call has added other tensors to it
                converted = converted and m.state[RETURNED].get((Change.CONVERTED, event)) is not None
            here = _goes_on(m, holder, event, bound) and not is_of_call(m, holder, event, held)
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
