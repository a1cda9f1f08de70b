"""New tensors, views and aliases."""

from __future__ import annotations

from ..heap.state import Declared, latest, same_or_none
from ..heap.values import (
    NONE,
    UNCERTAIN,
    Bindings,
    Cell,
    CellState,
    Const,
    Grad,
    Node,
    Origin,
    Region,
    Source,
    Storage,
    Tensor,
    Tuple,
    Unknown,
    Value,
    View,
    constant,
)
from ..program.site import Site
from ..torchfacts import ops as facts
from ..trace import events
from ..trace.frames import Frame
from ..trace.holdings import reach, tensors_in
from ..trace.log import UNCOUNTED
from ..trace.trace import BATCHED, GRAD_TESTS, Trace

_OUTPUTS = {"values": 0, "eigenvalues": 0, "Q": 0, "U": 0, "L": 0, "sign": 0, "solution": 0}
_OUTPUTS |= {"indices": 1, "eigenvectors": 1, "R": 1, "S": 1, "logabsdet": 1, "V": 2, "Vh": 2}
SAME_METADATA = frozenset({"shape", "dtype", "device", "ndim", "is_leaf", "layout", "names", "itemsize", "nbytes"})
VIEWS = frozenset({"T", "mT", "H", "mH", "real", "imag"})
_COMPUTED = VIEWS | SAME_METADATA | {"data", "grad"}
"""Attributes that are no methods."""


def fresh(grad: Grad = Grad.NO, node: Node | None = None, leaf: bool = True) -> Tensor:
    """A tensor with memory of its own."""
    return Tensor(cell=Cell(grad, node, leaf))


def view(m: Trace, base: Tensor, kind: View = View.ORDINARY, contiguous: bool = True) -> Tensor:
    """A view of ``base``; the strictest kind of view wins when views are made of views."""
    cell = base.cell
    if m.grad_mode:
        kind = kind if base.view in (View.NONE, View.ORDINARY) else base.view
    else:
        kind = View.EXPANDED if View.EXPANDED in (base.view, kind) else View.NO_GRAD
        cell = Cell(base=base.cell if base.view is not View.NO_GRAD else base.cell.base)
    part = Tensor(base.storage, cell, kind, base.contiguous and contiguous and kind is not View.EXPANDED)
    part.dtype = base.dtype
    part.origin = base.origin if base.origin is Source.MAYBE_CAST else Source.OTHER
    part.time = base.time
    if kind is View.MULTI_OUTPUT and (base.view is not kind or not part.time):
        part.time = m.tick()
    if m.state[BATCHED].get(base):
        m.state.set(m.state[BATCHED], part, True)
    return part


def detached(m: Trace, base: Tensor) -> Tensor:
    """``detach()``: the same memory and version counter, no history."""
    result = Tensor(base.storage, Cell(), base.view, base.contiguous, dtype=base.dtype)
    result.origin, result.time, result.region = base.origin, m.tick(), base.region
    result.shape, result.made = base.shape, Origin("detach", (base,), result.time)
    return result


def uncounted(m: Trace, storage: Storage) -> Storage:
    """The same memory, with a version counter of its own."""
    memory = storage.memory
    other = Storage(hidden=memory)
    m.state.set(m.state[UNCOUNTED], memory, m.state[UNCOUNTED].get(memory, frozenset()) | {(m.tick(), other)})
    return other


def data(m: Trace, base: Tensor) -> Tensor:
    """``.data``: the same memory, a version counter of its own."""
    memory, cell = uncounted(m, base.storage), Cell(base=base.cell)
    result = Tensor(memory, cell, base.view, base.contiguous, dtype=base.dtype)
    result.time = m.tick()
    result.made = Origin("detach", (base,), result.time)
    if base.origin in UNCERTAIN:
        result.origin = base.origin
    return result


def hooked(m: Trace, value: Value) -> Value:
    """What goes into, or comes out of, a module with a full backward hook: a view that may not be written in place."""
    value = m.see(value)
    if isinstance(value, Tuple):
        return Tuple(tuple(hooked(m, item) for item in value.items))
    if isinstance(value, Tensor) and m.grad(value) is Grad.YES:
        node = Node("BackwardHookFunction", (), m.history(value))
        cell = Cell(Grad.YES, node, False)
        seen = Tensor(value.storage, cell, View.BACKWARD_HOOK, value.contiguous, dtype=value.dtype)
        seen.time = m.tick()
        return seen
    return value


def unknown_call(m: Trace, *values: Value, grad: Grad = Grad.NO) -> Unknown:
    """The result of code that this file does not show: whatever it is, it may depend on all that went in.

    Without grad mode, nothing that it computes has a graph.
    """
    events.hand_over(m, values)
    use(m, *values)
    nodes = m.history(*values) if m.grad_mode else ()
    for value in values:
        grad = max(grad, reach(m, value))
    return Unknown(grad, Node("call", (), nodes) if nodes else None)


def use(m: Trace, *values: Value) -> None:
    """Note that the custom function that is being read computes with these values."""
    if m.backward.used is not None:
        m.backward.used |= {tensor.storage for value in values for tensor in tensors_in(m, value)}


def backward(m: Trace, outputs: list[Value], kwargs: Bindings) -> None:
    """A backward pass runs from ``outputs``, and frees what their graph had saved unless it is asked to keep it."""
    events.reach(m, outputs)
    events.update(m, None, frozenset())
    m.state.set(m.state.modes, "backward", True)
    if any(constant(kwargs.get(name, NONE)) is True for name in ("retain_graph", "create_graph")):
        events.retain_graph(m, outputs)
    else:
        events.free_graph(m, m.history(*outputs))


def require_grad(m: Trace, tensor: Tensor, on: bool, site: Site) -> None:
    """``tensor.requires_grad_(on)``. A view that comes to require grad is a leaf of its own, and its base is none."""
    events.requires_grad(m, tensor, on, site)
    state = m.cell(tensor)
    if state.leaf and state.grad and not on:
        m.state.set(m.state[FROZEN], tensor.cell, m.tick())
    if on and state.grad is not Grad.YES and tensor.region is not None and tensor.region.base.cell is tensor.cell:
        tensor.cell = Cell(state.grad, state.node, state.leaf)
    m.state.set(m.state[GRAD_TESTS], tensor.cell, frozenset())  # what was asked before says nothing of it now
    m.state.put(tensor.cell, CellState(Grad.YES if on else Grad.NO, state.node if on else None, state.node is None))
    if on:
        note_leaf(m, tensor)


FROZEN: Declared[Cell, int] = Declared(latest)
"""When a leaf that required grad was told not to: as a tensor of a module, it is a parameter still."""
REQUIRING: Declared[Cell, Frame | None] = Declared(same_or_none)
"""The call that has made a new tensor require grad, by the cell of the tensor."""


def note_leaf(m: Trace, tensor: Tensor) -> None:
    """Note that the running function has made a tensor that requires grad, if it has made the tensor."""
    if tensor.made is not None and m.stack.frames:
        m.state.set(m.state[REQUIRING], tensor.cell, m.stack.frames[-1])


def is_method(name: str) -> bool:
    """Whether tensors have a method of this name that computes a tensor."""
    return name in facts.tensor_methods() and name not in facts.scalar_methods() and name not in _COMPUTED


def output(value: Tuple, name: str) -> Value:
    """A named output of an operator: ``x.max(1).values``."""
    index = _OUTPUTS.get(name)
    return value.items[index] if index is not None and index < len(value.items) else Unknown()


def element(m: Trace, tensor: Tensor, index: int | None = None) -> Tensor:
    """What iteration over a tensor yields: one of several views, which may not be written. ``index`` tells which."""
    part = view(m, tensor, View.MULTI_OUTPUT)
    part.region = Region(tensor, (Const(index),), m.clock) if index is not None else None
    part.dims = tensor.dims - 1 if tensor.dims else None
    return part
