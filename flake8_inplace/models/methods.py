"""Methods and attributes of tensors."""

from __future__ import annotations

from ..heap.values import NONE, Array, Bindings, CellState, Const, Grad, Tensor, Unknown, Value, constant
from ..program.site import Site
from ..torchfacts import ops as facts
from ..trace.callables import Method
from ..trace.trace import Trace
from .overloads import apply
from .tensors import SAME_METADATA, VIEWS, backward, data, require_grad, unknown_call


def method(m: Trace, tensor: Tensor, name: str, args: list[Value], kwargs: Bindings, site: Site) -> Value:
    """Call a method of a tensor."""
    if name == "backward":
        backward(m, [tensor], kwargs)
        return NONE
    if name == "detach_":
        if tensor.view:
            m.refuse("detach", site)
        m.state.put(tensor.cell, CellState(Grad.NO, None, True))
        return tensor
    if name == "requires_grad_":
        on = constant(args[0] if args else kwargs.get("requires_grad", NONE)) is not False
        require_grad(m, tensor, on, site)
        return tensor
    if name == "numpy":
        return Array(tensor.storage, tensor)
    if name in ("__array__", "tolist"):
        return Unknown(scalar=True)
    if name in facts.no_bump_methods():
        return tensor
    if name in ("register_hook", "retain_grad"):
        return NONE
    if name in facts.scalar_methods():
        return m.symbol(tensor, name, *args, scalar=True) if name in ("size", "dim") else Unknown(scalar=True)
    if name == "cuda" or (name == "clone"):
        return apply(m, facts.lookup("Tensor.clone"), [tensor], {}, site)
    ops = facts.lookup(f"Tensor.{name}")
    if ops:
        return apply(m, ops, [tensor, *args], kwargs, site)
    return unknown_call(m, tensor, *args, *kwargs.values())


def attribute(m: Trace, tensor: Tensor, name: str, site: Site) -> Value:
    """Read an attribute of a tensor."""
    if name == "data":
        return data(m, tensor)
    if name == "grad":
        grad = m.promote(m.symbol(tensor.cell, "grad"))
        return grad
    if name == "is_leaf" and m.grad(tensor) is Grad.YES:
        return Const(m.cell(tensor).leaf)
    if name in SAME_METADATA:
        return m.symbol(tensor, name, scalar=True)
    if name in VIEWS:
        return apply(m, facts.lookup(f"Tensor.{name}"), [tensor], {}, site)
    if name in facts.tensor_methods():
        if name == "requires_grad":
            return m.ask(tensor.cell)
        if name in facts.scalar_methods() and name in ("is_cuda", "grad_fn", "is_sparse"):
            return m.symbol(tensor.cell, name, scalar=True)
        return Method(tensor, name, site.node)
    if "style" in m.extra and name[-1] == "_" != name[-2:-1]:
        m.refuse("style missing", site)
    return Unknown()
