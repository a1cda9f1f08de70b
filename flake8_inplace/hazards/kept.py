"""What an object keeps of a call of its method, and overwrites in a later call: it belongs to the caller still.

In ``if self.total is None: self.total = loss``, ``else: self.total += loss``, the second call overwrites the first
``loss``. So it does if the method makes the loss itself and returns it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..heap.regions import is_base
from ..heap.state import Declared, same_or_none
from ..heap.values import NONE, Array, Dict, List, Object, Storage, Tensor, Value
from ..trace import events
from ..trace.frames import Frame
from ..trace.log import STORED, WRITES, Overwrite, direct_tensors, given_tensors, since, spelled
from ..trace.trace import Trace
from .intent import attribute_written

KEEPERS: Declared[tuple[Object, str], Frame | None] = Declared(same_or_none)
"""The call that bound an attribute to tensors, by instance and name."""
GIVEN_OUT: Declared[Storage, tuple[Frame, Tensor] | None] = Declared(same_or_none)
"""The call of a method that returned a tensor which its object keeps."""
KEPT: Declared[Overwrite, Tensor | None] = Declared(same_or_none)
"""What an earlier call was given, or has returned, and a method now overwrites, by the write."""


@events.read_variable.listen
def on_read_variable(m: Trace, name: str, value: Value, frame: Frame, index: tuple[Value, ...]) -> None:
    if len(m.state[KEPT]):
        _judge(m, value, frame.bound(name), frame)


@events.load.listen
def on_load(m: Trace, container: List | Dict, value: Value, known: bool) -> None:
    for tensor in direct_tensors(m, value) if len(m.state[KEPT]) and m.stack.frames else ():
        held = abs(m.state[STORED].get((container, tensor.storage), 0)) or container.time
        _judge(m, tensor, held, m.stack.frames[-1], 2)


def _judge(m: Trace, value: Value, bound: int, frame: Frame, depth: int = 0) -> None:
    """Report a variable or element of a caller, bound before, that a later call of the method has overwritten.

    ``depth`` is how many of the innermost frames of the write are asked, 0 for all: what a list has is reported once.
    """
    for tensor in direct_tensors(m, value) if frame in m.stack.frames[-1:] else ():
        for event in since(m, tensor, bound):
            kept = m.state[KEPT].get(event)
            if kept is not None and frame in event.frames[-depth:-1] and (tensor is kept or is_base(tensor)):
                m.refuse("read", event.site, guard=event.guard)


@events.logged.listen
def on_logged(m: Trace, event: Overwrite) -> None:
    """Note a write to what an earlier call of the same method was given, or has returned."""
    frame = event.frames[-1]
    if frame.function is None or not isinstance(frame.receiver, Object):
        return
    keeper, storage = m.state[KEEPERS].get((frame.receiver, _attribute_of(m, event))), event.tensor.storage
    if keeper is None or keeper is frame or keeper.function is not frame.function:
        return
    given = _given_of(m, keeper, storage)
    out = m.state[GIVEN_OUT].get(storage)
    if not given and out is not None and out[0] is keeper:
        given = [out[1]]
    anew = any(tensor is event.tensor or is_base(tensor) for tensor in _given_of(m, frame, storage))
    for tensor in given if not anew else ():
        m.state.set(m.state[KEPT], event, tensor)


def _attribute_of(m: Trace, event: Overwrite) -> str:
    """Return the attribute that a write is to, or whose list it is to: ``torch._foreach_add_(self.totals, values)``."""
    name, owner, kept = attribute_written(event), event.frames[-1].receiver, spelled(m, event)
    held = m.state.get(owner).items.items() if not name and isinstance(owner, Object) and isinstance(kept, List) else ()
    return name or next((name for name, value in held if m.see(value) is kept), "")


def _given_of(m: Trace, frame: Frame, storage: Storage) -> list[Tensor]:
    """Return the arguments of a function, and the elements of these, that have the memory of a storage."""
    given = [tensor for arg in frame.arguments() for tensor in given_tensors(m, arg, NONE, 1)]
    return [tensor for tensor in given if tensor.storage is storage]


@events.set_attribute.listen
def on_set_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Note which call of a method bound an attribute to tensors. What is overwritten in place stays the same."""
    if not m.stack.frames or m.state.get(instance).items.get(name) is value:
        return
    keeps = isinstance(value, (Tensor, Array, List)) and m.stack.frames[-1].receiver is instance
    if keeps or m.state[KEEPERS].get((instance, name)) is not None:
        m.state.set(m.state[KEEPERS], (instance, name), m.stack.frames[-1] if keeps else None)


@events.returns.listen
def on_return(m: Trace, args: Sequence[Value], result: Value, born: int, used: bool) -> None:
    """Note what a method returns of what its object keeps. If each call returns that, it is a state, not a result."""
    frame = m.stack.frames[-1]
    if not used or not isinstance(frame.receiver, Object) or not len(m.state[KEEPERS]):
        return
    items = m.state.get(frame.receiver).items
    bound = [items.get(name, NONE) for name in items if m.state[KEEPERS].get((frame.receiver, name)) is frame]
    kept = {tensor.storage for value in bound for tensor in given_tensors(m, value, NONE, 1)}
    for tensor in given_tensors(m, result, NONE, 1) if kept or len(m.state[KEPT]) else ():
        if tensor.storage in kept:
            m.state.set(m.state[GIVEN_OUT], tensor.storage, (frame, tensor))
        for event in since(m, tensor, born) if m.state[WRITES] else ():
            if m.state[KEPT].get(event) is not None:
                m.state.set(m.state[KEPT], event, None)
