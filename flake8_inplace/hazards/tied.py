"""Weights that two modules share: one of them is initialised after the weights were given values by the other's name.

``self.head.weight = self.embed.weight`` makes one parameter of two. Who initialises the head afterwards undoes what was
copied to the embedding, or written to its padding row.
"""

from __future__ import annotations

from ..heap.state import Declared, same_or_none
from ..heap.values import Grad, Object, Storage, Tensor, Value
from ..trace import events
from ..trace.frames import Frame
from ..trace.log import Overwrite, fills
from ..trace.trace import Trace

TIED: Declared[Storage, Object | None] = Declared(same_or_none)
"""The module that was last given a parameter as its own."""
READER: Declared[Storage, Object | None] = Declared(same_or_none)
"""The module from which a tied parameter was last read."""
CHOSEN: Declared[Storage, tuple[Object | None, Overwrite] | None] = Declared(same_or_none)
"""The last write of chosen values to a parameter, in full or in part, and by which module, if it was tied by then."""
UNDONE: Declared[Storage, tuple[Overwrite, Overwrite] | None] = Declared(same_or_none)
"""A write of chosen values and the one that initialised the parameter afterwards, until values are chosen again."""


@events.set_attribute.listen
def on_set_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Note who is given a parameter."""
    if isinstance(value, Tensor) and _is_parameter(m, value):
        m.state.set(m.state[TIED], value.storage, instance)


@events.read_attribute.listen
def on_read_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Note from which module a tied parameter is read."""
    if m.state[TIED] and isinstance(value, Tensor) and value.storage in m.state[TIED]:
        m.state.set(m.state[READER], value.storage, instance)


@events.logged.listen
def on_logged(m: Trace, event: Overwrite) -> None:
    """Note that chosen values are written to a parameter, or that it is initialised by another module's name for it."""
    memory = event.tensor.storage.memory
    reader = m.state[READER].get(memory)
    if event.written.op == "copy_" or event.written.index is not None or event.tensor.region is not None:
        if _is_parameter(m, event.tensor):
            m.state.set(m.state[CHOSEN], memory, (reader, event))
            m.state.set(m.state[UNDONE], memory, None)
        return
    chosen = m.state[CHOSEN].get(memory)
    if chosen is None or reader is None or not fills(event.tensor, event.written):
        return
    by, write = chosen
    if reader is not by and (by is not None or reader is m.state[TIED].get(memory)):
        m.state.set(m.state[UNDONE], memory, (write, event))
    m.state.set(m.state[CHOSEN], memory, None)


@events.returns.listen
def on_return(m: Trace, args: object, result: Value, born: int, used: bool) -> None:
    """Report an initialisation when the outermost function returns that both writes were made in."""
    for chosen, event in filter(None, m.state[UNDONE].values()) if m.state[UNDONE] else ():
        if _outermost(chosen, event) is m.stack.frames[-1]:
            m.refuse("tied", event.site, other=chosen.site, guard=event.guard)


def _outermost(one: Overwrite, other: Overwrite) -> Frame | None:
    """Return the outermost call of a function that both writes were made in: a program may reset all it has made."""
    return next((frame for frame in one.frames if frame.function is not None and frame in other.frames), None)


def _is_parameter(m: Trace, tensor: Tensor) -> bool:
    state = m.state.get(tensor.cell.base or tensor.cell)
    return state.grad is Grad.YES and state.leaf
