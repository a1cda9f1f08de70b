"""``tensor.grad``: the tensor that a backward pass adds to, until ``zero_grad()`` or an assignment puts it away."""

from __future__ import annotations

from collections.abc import Iterable

from ..heap.state import Declared, latest
from ..heap.values import NONE, Cell, Tensor, Value
from ..program.site import Site
from ..trace import events
from ..trace.trace import Trace

READ: Declared[Cell, int] = Declared(latest)
"""When the program last read the gradient of a tensor, by its cell. One that nobody read needs no record."""
_SLOT = "gradient"


def gradient(m: Trace, tensor: Tensor) -> Value:
    """Return ``tensor.grad``."""
    m.state.set(m.state[READ], tensor.cell, m.tick())
    return _current(m, tensor.cell)


def _current(m: Trace, cell: Cell) -> Value:
    found = m.see(m.state.store.get((cell, _SLOT), NONE))
    return m.promote(m.symbol(cell, "grad")) if found == NONE else found


def assign(m: Trace, tensor: Tensor, value: Value) -> None:
    """``tensor.grad = value``; after None, the next backward makes another tensor."""
    value = m.see(value)
    if isinstance(value, Tensor):
        m.state.set(m.state[READ], tensor.cell, m.tick())
    m.state.set(m.state.store, (tensor.cell, _SLOT), value if isinstance(value, Tensor) else Tensor())


def forget(m: Trace, cells: Iterable[Cell]) -> None:
    """``zero_grad()``: who has read a gradient keeps it, and the next backward makes another one."""
    for cell in list(cells):
        if cell in m.state[READ]:
            m.state.set(m.state.store, (cell, _SLOT), Tensor())


def zero(m: Trace, cells: Iterable[Cell], site: Site) -> None:
    """``zero_grad(set_to_none=False)``: who has read a gradient sees zeros."""
    for cell in list(cells):
        if cell in m.state[READ] and isinstance(found := _current(m, cell), Tensor):
            events.write(m, found.storage, "op_", site)
            events.accumulate(m, found, "zero_", site)


def accumulate(m: Trace, site: Site) -> None:
    """A backward adds to the gradients that are there."""
    for cell in list(m.state[READ]):
        if isinstance(found := _current(m, cell), Tensor):
            events.accumulate(m, found, "add_", site)
