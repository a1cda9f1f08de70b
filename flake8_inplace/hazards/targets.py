"""A network that is meant to keep its weights while another one is trained, and shares their memory.

``target.data = parameter.data`` copies no weights. Sharing them may be intended, but not if one instance or function
calls both networks, the one in grad mode and the other one under ``no_grad``, as a target.
"""

from __future__ import annotations

from ..heap.state import Declared, same_or_none, union
from ..heap.values import UNCERTAIN, Object, Storage, Tensor, Value, View
from ..program.site import Site
from ..torchfacts.kinds import DIFFERENCES
from ..trace import events, holdings
from ..trace.frames import Frame
from ..trace.log import since_in_memory
from ..trace.trace import Trace
from .snapshots import updates_of

SHARED: Declared[Storage, tuple[Storage, int] | None] = Declared(same_or_none)
"""With which other parameter one shares its memory since ``x.data = y.data``, and when that was: for both of them."""
TRAINED: Declared[Storage, frozenset[tuple[Object, object]]] = Declared(union)
"""The networks that were called in grad mode, each with its caller, by the storage of each of their parameters."""


@events.replace_data.listen
def on_replace_data(m: Trace, tensor: Tensor, value: Value) -> None:
    """Note that a parameter got the memory of another one, or memory of its own again.

    Report the update of a parameter that got the same memory before, as for one client of a server after another.
    """
    before = m.state[SHARED].get(tensor.storage)
    for storage in (tensor.storage, before[0]) if before is not None else ():
        m.state.set(m.state[SHARED], storage, None)
    if isinstance(value, Tensor) and value.view is View.NONE and value.origin not in UNCERTAIN:
        source, now = value.storage.memory, m.tick()
        other, time = m.state[SHARED].get(source) or (tensor.storage, now)
        for update in updates_of(m, other, time) if other is not tensor.storage else ():
            if update.site is not None and other in update.memory and source not in update.memory:
                m.refuse("read", update.site)
                break
        m.state.set(m.state[SHARED], source, (tensor.storage, now))
        m.state.set(m.state[SHARED], tensor.storage, (source, now))


@events.call_instance.listen
def on_call(m: Trace, instance: Object, site: Site) -> None:
    """Report the call of a target after an optimizer, not its own, has updated the weights that it shares."""
    if not m.state[SHARED] or not m.stack.frames:
        return
    caller = _caller(m.stack.frames[-1])
    for tensor in holdings.parameters(m, instance):
        if m.grad_mode:
            trained = m.state[TRAINED].get(tensor.storage, frozenset())
            m.state.set(m.state[TRAINED], tensor.storage, trained | {(instance, caller)})
            continue
        memory, time = m.state[SHARED].get(tensor.storage) or (tensor.storage, 0)
        trained = m.state[TRAINED].get(memory, frozenset())
        if time and any(other is not instance and by is caller for other, by in trained):
            for update in updates_of(m, memory, time):
                if update.site is not None and memory in update.memory and tensor.storage not in update.memory:
                    m.refuse("read", update.site)
                    return


@events.relate.listen
def on_relate(m: Trace, op: str, one: Tensor, other: Tensor, site: Site) -> None:
    """Report ``before.data - p.data`` after a write to the memory that both have since ``p.data = before.data``."""
    mine, its = one.storage.memory, other.storage.memory
    shared = m.state[SHARED].get(mine) if m.state[SHARED] and op in DIFFERENCES and mine is not its else None
    if shared is None or shared[0] is not its or not all(each.view is View.NONE for each in (one, other)):
        return
    for memory in (mine, its):
        for event in since_in_memory(m, Tensor(memory), shared[1]):
            m.refuse("read", event.site, guard=event.guard)
        for update in updates_of(m, memory, shared[1]):
            if update.site is not None and memory in update.memory:
                m.refuse("read", update.site)


def _caller(frame: Frame) -> object:
    """Return the instance whose method runs, or the function."""
    return frame.function if frame.receiver is None else frame.receiver
