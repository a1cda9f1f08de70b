"""``tensor.grad``: the tensor that a backward pass adds to, until ``zero_grad()`` or an assignment puts it away."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from ..heap.autograd import graph
from ..heap.state import Declared, latest, same_or_none
from ..heap.values import NONE, Bindings, Cell, Const, Grad, Node, Tensor, Value, View, constant
from ..program.site import Site
from ..trace import events, holdings
from ..trace.frames import Frame
from ..trace.log import GRADIENTS
from ..trace.trace import Trace
from . import tensors
from .registry import Call, model
from .tensors import REQUIRING

READ: Declared[Cell, int] = Declared(latest)
"""When the program last read the gradient of a tensor, by its cell. One that nobody read (0) needs no record."""
LOCAL: Declared[Cell, Frame | None] = Declared(same_or_none)
"""The call that has made a leaf and has read its gradient, by the cell of the leaf."""
_SLOT = "gradient"


def gradient(m: Trace, tensor: Tensor) -> Value:
    """Return ``tensor.grad``."""
    if _of_view(tensor):
        return m.promote(m.symbol(tensor, "grad"))
    m.state.set(m.state[READ], tensor.cell, m.tick())
    if m.stack.frames and m.state[REQUIRING].get(tensor.cell) is m.stack.frames[-1]:
        m.state.set(m.state[LOCAL], tensor.cell, m.stack.frames[-1])
    found = _current(m, tensor.cell)
    if isinstance(found, Tensor):
        m.state.set(m.state[GRADIENTS], found, tensor.cell)
    return found


def _of_view(tensor: Tensor) -> bool:
    """Whether a tensor is a view: its ``grad`` is neither that of its base nor of other views."""
    return tensor.view is not View.NONE


def _current(m: Trace, cell: Cell) -> Value:
    found = m.see(m.state.store.get((cell, _SLOT), NONE))
    return m.promote(m.symbol(cell, "grad")) if found == NONE else found


def assign(m: Trace, tensor: Tensor, value: Value) -> None:
    """``tensor.grad = value``; after None, the next backward makes another tensor. A view is there to be added to."""
    if _of_view(tensor):
        return
    value = m.see(value)
    if isinstance(value, Tensor) and value.view is View.NONE:
        m.state.set(m.state[READ], tensor.cell, m.tick())
    m.state.set(m.state.store, (tensor.cell, _SLOT), value if isinstance(value, Tensor) else Tensor())


def forget(m: Trace, cells: Iterable[Cell]) -> None:
    """``zero_grad()``: who has read a gradient keeps it, and the next backward makes another one, which nobody read."""
    for cell in list(cells):
        if m.state[READ].get(cell) or (cell, _SLOT) in m.state.store:
            m.state.set(m.state.store, (cell, _SLOT), Tensor())
            m.state.set(m.state[READ], cell, 0)


def zero(m: Trace, cells: Iterable[Cell], site: Site) -> None:
    """``zero_grad(set_to_none=False)``: who has read a gradient sees zeros."""
    _overwrite(m, cells, "zero_", site)


def _overwrite(m: Trace, cells: Iterable[Cell], op: str, site: Site) -> None:
    for cell in list(cells):
        if m.state[READ].get(cell) and isinstance(found := _current(m, cell), Tensor):
            events.write(m, found.storage, "op_", site)
            events.accumulate(m, found, op, site)


def unscale(m: Trace, parameters: Value, site: Site) -> None:
    """Multiply the gradients of these parameters by a number."""
    _overwrite(m, [tensor.cell for tensor in holdings.held(m, parameters, set())], "mul_", site)


@model(*(f"torch.nn.utils.{place}clip_grad_{by}_" for place in ("", "clip_grad.") for by in ("norm", "value")))
@model("torch.nn.utils.clip_grads_with_norm_")
def _clip(call: Call) -> None:
    if call.args:
        unscale(call.m, call.args[0], call.site)


def backward(m: Trace, outputs: list[Value], kwargs: Bindings, site: Site) -> None:
    """A backward from ``outputs`` adds to the gradients of the leaves that it reaches."""
    if _goes_through_all(kwargs, site):
        frees = not any(_may_be_true(m.see(kwargs.get(name, NONE))) for name in ("retain_graph", "create_graph"))
        events.run_backward(m, outputs, frees, site)
    tensors.backward(m, outputs, kwargs)
    if again(kwargs):
        _compute(m, m.history(*outputs))
    else:
        _accumulate(m, outputs, site)


def _goes_through_all(kwargs: Bindings, site: Site) -> bool:
    """Whether a backward surely visits all nodes of a graph: no ``inputs=`` and nothing hidden in ``*`` or ``**``."""
    given = site.expression.args if isinstance(site.expression, cst.Call) else ()
    return "inputs" not in kwargs and all(not arg.star for arg in given)


def _may_be_true(value: Value) -> bool:
    return not isinstance(value, Const) or bool(value.value)


def again(kwargs: Bindings) -> bool:
    """Whether a backward makes gradients that can be differentiated."""
    return constant(kwargs.get("create_graph", NONE)) is True


def _compute(m: Trace, history: tuple[Node, ...]) -> None:
    """With ``create_graph``, gradients of leaves are new tensors, which have a history: nothing is added in place."""
    for cell in dict.fromkeys(cell for node in graph(*history) for cell in node.leaves):
        if cell is not None:
            made = tensors.fresh(Grad.YES, Node("grad", (), history), False)
            m.state.set(m.state.store, (cell, _SLOT), made)


def _accumulate(m: Trace, outputs: Iterable[Value], site: Site) -> None:
    read = [cell for cell, time in m.state[READ].items() if time]
    nodes = list(graph(*m.history(*outputs))) if read else []
    known = {cell for node in nodes for cell in node.leaves}
    unknown = not nodes or None in known
    for cell in read:
        reached = cell in known or (unknown and not _is_of_ended_call(m, cell))
        if reached and isinstance(found := _current(m, cell), Tensor):
            events.accumulate(m, found, "add_", site)


def _is_of_ended_call(m: Trace, cell: Cell) -> bool:
    """Whether a leaf was made by a call that has read its gradient and has ended: others compute with their own."""
    frame = m.state[LOCAL].get(cell)
    return frame is not None and frame not in m.stack.frames
