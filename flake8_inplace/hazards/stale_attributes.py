"""Stale reads of attributes: an attribute shows what was written to its tensor by another name, or by a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..heap.state import Declared, latest, same_or_none
from ..heap.values import NONE, Array, Grad, Object, Source, Tensor, Value
from ..trace import events
from ..trace.frames import Frame
from ..trace.log import (
    ATTRIBUTE_WRITERS,
    RETURNED,
    STORED,
    WRITES,
    Overwrite,
    array_backing,
    attributes_bound,
    direct_tensors,
    fills,
    is_record,
    lies_in,
    since,
    whole,
)
from ..trace.trace import Trace
from .intent import assigned_from, assigned_to, attribute_written, gives_attribute, gives_itself
from .known import writes_the_same
from .moved_on import note_bound_again
from .snapshots import UPDATES
from .stale import has_part, judge_rebinding, was_given
from .stale_parts import read_part_of

if TYPE_CHECKING:
    import libcst as cst

LAST_READ: Declared[tuple[Object, str], int] = Declared(latest)
"""When an attribute with a tensor was last read, by instance and name."""
COMMANDS: Declared[int, tuple[cst.CSTNode, ...] | None] = Declared(same_or_none)
"""The calls that led to a write and whose results nobody uses, by when it was made."""


_BY_NAME = ("inplace", "augmented")
"""Forms of a write that look like a new value for a name: ``F.relu(h, inplace=True)``, ``h += 1``."""


@events.logged.listen
def on_logged(m: Trace, event: Overwrite) -> None:
    """Note the calls that are statements of their own and led to a write."""
    frames, calls = m.stack.frames, m.stack.calls
    if len(frames) > 1 and event.name:
        thrown = [frame.discarded for frame in frames[:-1] if frame.discarded is not None]
        found = tuple([node for node in thrown if any(call.expression is node for call in calls)])
        if found:
            m.state.set(m.state[COMMANDS], event.time, found)


@events.read_attribute.listen
def read_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Report the read of an attribute whose tensor was overwritten since it was bound.

    After ``self.features = x``, a following ``x = relu_(x)`` is hardly meant to change the attribute. But the method
    that bound it may fill parts of it, and code that has read it has a name for it and may change it on purpose.
    The method that bound ``self.returns = self.advantages`` doesn't mean the first by ``self.advantages -= values``.
    Nor does a program that updates either of two attributes, as if they were two tensors.
    """
    value, bound = array_backing(value), abs(m.state[STORED].get((instance, name), 0))
    named = m.state[WRITES] and isinstance(value, Tensor) and _is_named_apart(m, value, bound, (instance, name))
    if named or is_record(instance):
        read_part_of(m, value, instance, bound)
    if isinstance(value, Tensor) and m.state[WRITES]:
        m.state.set(m.state[LAST_READ], (instance, name), m.tick())
    if not isinstance(value, Tensor) or not m.state[STORED]:
        return
    time, writer = max(0, m.state[STORED].get((instance, name), 0)), m.state[ATTRIBUTE_WRITERS].get((instance, name))
    if not (time or writer):
        return
    parameter = _is_parameter(m, value)  # which is given its values where it is
    for event in since(m, value, time or (writer[1] if writer else 0)) if not parameter else ():
        if _is_stale(m, instance, name, value, event):
            m.refuse("read", event.site, guard=event.guard)
        elif _is_from_call(m, name, value, event, writer):
            m.refuse("argument", event.site, guard=event.guard)
    if time:
        m.state.set(m.state[STORED], (instance, name), -time)


def _is_parameter(m: Trace, value: Tensor) -> bool:
    state = m.cell(value)
    return state.grad is Grad.YES and state.leaf


def _is_stale(m: Trace, instance: Object, name: str, value: Tensor, event: Overwrite) -> bool:
    """Whether all of an attribute was overwritten by another name or attribute, as if that were another tensor."""
    time, writer = m.state[STORED].get((instance, name), 0), m.state[ATTRIBUTE_WRITERS].get((instance, name))
    here, other = writer is not None and event.frames[-1] is writer[0], attribute_written(event)
    apart = value.time and not fills(event.tensor, event.written)  # ``self.last = h.detach()``
    own = here and m.stack.frames[-1] is event.frames[-1]  # which reads it as it reads a variable
    elsewhere = not here or apart or event.form in _BY_NAME or (own and event.form == "op_")
    by_name = time > 0 and elsewhere and event.name and not other and value.origin is not Source.BLANK
    by_name = by_name and not gives_attribute(m.state[COMMANDS].get(event.time) or (), name)
    by_name = by_name and not _is_given_as_attribute(m, instance, value, event)
    by_attribute = here and event.form == "augmented" and other not in ("", name)
    by_twin = other not in ("", name) and _is_updated_apart(m, instance, value, event, name)
    return bool(by_name or by_attribute or by_twin) and whole(value, event)


def _is_given_as_attribute(m: Trace, instance: Object, value: Tensor, event: Overwrite) -> bool:
    """Whether a command has filled an attribute that it was given: ``self.mix(self.hall)``.

    The method that has just bound ``self.noisy = self.hall`` may say so as it may write ``self.hall[:] = values``.
    """
    if event.form in _BY_NAME:
        return False
    held = [name for name, each in m.state.get(instance).items.items() if array_backing(m.see(each)) is value]
    writers = [m.state[ATTRIBUTE_WRITERS].get((instance, name)) for name in held]
    both = [writer is not None and writer[0] in event.frames for writer in writers]
    commands = m.state[COMMANDS].get(event.time) or ()
    return all(both) and any(gives_attribute(commands, name) for name in held)


def _is_from_call(m: Trace, name: str, value: Tensor, event: Overwrite, writer: tuple[Frame, int] | None) -> bool:
    """Whether a function that has returned was given an attribute, or a part of it, and overwrote it.

    The function that has called it may be told so only if it has bound the attribute itself, as a name for a tensor.
    """
    if not m.stack.frames:
        return False
    frame = m.stack.frames[-1]
    if frame in event.frames:
        return writer is not None and writer[0] is frame and _was_given_no_state(m, value, event, name)
    return _was_given_no_state(m, value, event, name) or (has_part(m, value, event) and not _ran_before(m, event))


def _is_named_apart(m: Trace, value: Tensor, time: int, read: tuple[Object, str]) -> bool:
    """Whether a function gave back what it has overwritten, and its caller has a name for that, or an attribute.

    A loop that gives a parameter to the same function again, ``w = prune(layer.weight, share)``, goes on with it.
    """
    last = max((event.time for event in since(m, value, time)), default=0)
    if not last or not m.stack.frames:
        return False
    frame, parameter = m.stack.frames[-1], _is_parameter(m, value)
    again = assigned_to(frame) if parameter else ()
    newer = [bound for name, bound in frame.vars.items() if frame.bound(name) > last and name not in again]
    newer += attributes_bound(m, frame, last, read) if not parameter else ()
    return any(tensor.storage is value.storage for bound in newer for tensor in direct_tensors(m, bound))


def _is_updated_apart(m: Trace, instance: Object, value: Tensor, event: Overwrite, name: str) -> bool:
    """Whether two attributes are one tensor, and the program updates it by both: ``self.mean = self.var = zeros``."""
    other = m.state.get(instance).items.get(attribute_written(event), NONE)
    writes = [each for each in m.state[WRITES].get(value.storage, ()) if attribute_written(each) == name]
    return array_backing(m.see(other)) is value and any(not writes_the_same(event, each) for each in writes)


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


@events.set_attribute.listen
def on_set_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Note when an attribute is bound and by which frame. Judge one that is bound to the same tensor again."""
    if m.state[WRITES] and m.state.get(instance).items.get(name) is value and gives_itself(m, name, value):
        return
    note_bound_again(m, instance, name, value)
    if m.state[WRITES] and m.state.get(instance).items.get(name) is value:
        if not m.stack.frames or name not in assigned_from(m.stack.frames[-1]):  # not by ``self.h, _ = f(self.h)``
            judge_rebinding(m, value, abs(m.state[STORED].get((instance, name), 0)))
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
