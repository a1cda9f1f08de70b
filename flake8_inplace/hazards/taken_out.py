"""Which containers and records a statement has read a tensor out of, and since when these have it."""

from __future__ import annotations

from ..heap.state import Declared, latest, same_or_none, union
from ..heap.values import Dict, List, Object, Storage, Tensor, Value
from ..trace import events
from ..trace.frames import Frame
from ..trace.log import WRITES, Overwrite, array_backing, is_record, reads
from ..trace.trace import Trace

Holder = List | Dict | Object
PUT_IN: Declared[tuple[Holder, Storage], int] = Declared(latest)
"""When a list or dictionary got a tensor."""
TAKEN_OUT: Declared[tuple[Frame, Storage], tuple[object, frozenset[Holder]] | None] = Declared(same_or_none)
"""The statement of a frame that read a tensor last which has been overwritten, and out of what."""
REACHED_BY: Declared[tuple[Frame, Storage], tuple[object, frozenset[Holder]] | None] = Declared(same_or_none)
"""The statement of a frame that took memory out of containers last, and out of which, whether or not it read it."""
WRITTEN_IN: Declared[int, frozenset[Holder]] = Declared(union)
"""The containers that a write took its tensor out of, by the time of the write: ``kept[name].copy_(x)``."""
MOVABLE: Declared[Storage, frozenset[Holder]] = Declared(union)
"""Out of what a tensor was read after it was overwritten: who has it by a name may put it into another place."""


@events.append.listen
def on_append(m: Trace, container: List, value: Value) -> None:
    on_store(m, container, value)


@events.store.listen
def on_store(m: Trace, container: List | Dict, value: Value) -> None:
    """Note when a container got a tensor, whether or not it was written to before."""
    tensor = array_backing(m.see(value))
    if isinstance(tensor, Tensor):
        m.state.set(m.state[PUT_IN], (container, tensor.storage), m.tick())


@events.load.listen
def on_load(m: Trace, container: List | Dict, value: Value, known: bool) -> None:
    _note(m, container, value)


@events.read_attribute.listen
def on_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    if is_record(instance):
        _note(m, instance, value)


@events.take.listen
def on_take(m: Trace, container: List | Dict, value: Value) -> None:
    """Note out of what the running statement has taken a tensor, read or not."""
    tensor = array_backing(m.see(value))
    if isinstance(tensor, Tensor) and m.stack.frames and (frame := m.stack.frames[-1]).line is not None:
        others = _reached_by(m, frame, tensor)
        m.state.set(m.state[REACHED_BY], (frame, tensor.storage.memory), (frame.line, others | {container}))


def _reached_by(m: Trace, frame: Frame, tensor: Tensor) -> frozenset[Holder]:
    line, holders = m.state[REACHED_BY].get((frame, tensor.storage.memory)) or (None, frozenset())
    return holders if line is frame.line else frozenset()


@events.logged.listen
def on_write(m: Trace, event: Overwrite) -> None:
    """Note which containers a write goes through, as ``kept[name].copy_(x)`` does.

    If the new values are computed from the tensor, it may have been taken out for them: ``total += losses[0]``.
    """
    holders = _reached_by(m, event.frames[-1], event.tensor)
    if holders and not reads(event.tensor, event.written):
        m.state.set(m.state[WRITTEN_IN], event.time, holders)


def _note(m: Trace, holder: Holder, value: Value) -> None:
    tensor = array_backing(m.see(value))
    if not isinstance(tensor, Tensor) or tensor.storage not in m.state[WRITES] or not m.stack.frames:
        return
    frame, movable = m.stack.frames[-1], m.state[MOVABLE].get(tensor.storage, frozenset())
    if frame.line is not None:
        others = frozenset(taken_from(m, tensor.storage, frame))
        m.state.set(m.state[TAKEN_OUT], (frame, tensor.storage), (frame.line, others | {holder}))
        m.state.set(m.state[MOVABLE], tensor.storage, movable | {holder})


def taken_from(m: Trace, storage: Storage, frame: Frame) -> dict[Holder, int]:
    """Return what the running statement of a frame has read a tensor out of, if that was overwritten before.

    Each with the time since when it has the tensor, 0 if that is not known.
    """
    line, holders = m.state[TAKEN_OUT].get((frame, storage)) or (None, frozenset())
    found = holders if line is frame.line else ()
    return {holder: m.state[PUT_IN].get((holder, storage), 0) or holder.time for holder in found}
