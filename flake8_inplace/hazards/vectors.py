"""Parameters that lie in a vector: ``vector_to_parameters`` copies nothing, it makes each parameter a part of it.

Who updates the parameters changes the vector, and the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..heap.state import Declared, same_or_none
from ..heap.values import Choice, Object, Storage, Tensor, Value, View
from ..program.site import Site
from ..trace import events, holdings
from ..trace.frames import Frame
from ..trace.log import Overwrite, since
from ..trace.trace import Trace
from .snapshots import Update, updates_of

PARTS: Declared[Storage, tuple[frozenset[Storage], int] | None] = Declared(same_or_none)
"""The parameters that lie in a vector, and since when."""
LIES_IN: Declared[Storage, tuple[Storage, int] | None] = Declared(same_or_none)
"""The vector that a parameter lies in, and since when."""


@events.divide.listen
def on_divide(m: Trace, vector: Tensor, parameters: Sequence[Tensor]) -> None:
    """Note ``vector_to_parameters(vector, parameters)``."""
    memory, now = vector.storage.memory, m.tick()
    for tensor in parameters:
        before = m.state[LIES_IN].get(tensor.storage)
        if before is not None:
            m.state.set(m.state[PARTS], before[0], None)
        m.state.set(m.state[LIES_IN], tensor.storage, (memory, now))
    m.state.set(m.state[PARTS], memory, (frozenset(tensor.storage for tensor in parameters), now))


@events.read_variable.listen
def on_read_variable(m: Trace, name: str, value: Value, frame: Frame, index: tuple[Value, ...]) -> None:
    """Judge the read of a variable."""
    _judge_vector(m, value)


@events.read_attribute.listen
def on_read_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Judge the read of an attribute."""
    _judge_vector(m, value)


def _judge_vector(m: Trace, value: Value) -> None:
    """Report the read of a vector after an update of the parameters that lie in it."""
    if not m.state[PARTS]:
        return
    if isinstance(value, Choice):
        for option in [m.see(option) for guard, option in value.options if m.state.possible(guard)]:
            _judge_vector(m, option)
        return
    if not isinstance(value, Tensor) or value.view is not View.NONE:
        return
    parts, time = m.state[PARTS].get(value.storage.memory) or (frozenset(), 0)
    for part in parts:
        changes: list[Update | Overwrite] = [*updates_of(m, part, time), *since(m, Tensor(part), time)]
        for change in changes:
            if change.site is not None:
                m.refuse("read", change.site)
                break


@events.call_instance.listen
def on_call(m: Trace, instance: Object, site: Site) -> None:
    """Report the call of a module after a write to the vector that its parameters lie in."""
    for tensor in holdings.parameters(m, instance) if m.state[LIES_IN] else ():
        vector, time = m.state[LIES_IN].get(tensor.storage) or (None, 0)
        for event in since(m, Tensor(vector), time)[:1] if vector is not None else ():
            m.refuse("read", event.site, guard=event.guard)
