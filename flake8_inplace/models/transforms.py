"""Functions of ``torch.func`` and ``torch.autograd.functional``: they are given a function and transform it."""

from __future__ import annotations

from typing import Final

from ..heap.values import NONE, Cell, Const, Dict, Grad, List, Node, Tensor, Tuple, Unknown, Value
from ..trace import events, holdings
from ..trace.callables import Transform
from ..trace.trace import BATCHED, Trace
from . import operators
from .registry import Call, model

_ALL: Final = Const(...)
"""Stands for every argument of a function that is differentiated."""


@model("torch.vmap", "torch.func.vmap", "functorch.vmap")
def _vmap(call: Call) -> Value | None:
    return Transform("vmap", call.args[0], call.argument(1, "in_dims", Const(0))) if call.args else None


@model("torch.func.grad", "torch.func.grad_and_value", "torch.func.jacrev", "torch.func.hessian")
@model("functorch.grad", "functorch.grad_and_value", "functorch.jacrev", "functorch.hessian")
def _grad(call: Call) -> Value | None:
    return Transform("grad", call.args[0], call.argument(1, "argnums", Const(0))) if call.args else None


@model(*[f"torch.autograd.functional.{name}" for name in ("jacobian", "hessian", "vjp", "hvp", "vhp")])
def _differentiate(call: Call) -> Value | None:
    """Functions that are given a function, and its arguments as one value or as a tuple, and differentiate it."""
    if len(call.args) < 2:
        return None
    given = call.seen(1)
    inputs: list[Value] = list(given.items) if isinstance(given, Tuple) else [given]
    return transformed(Transform("grad", call.args[0], _ALL), Call(call.m, call.name, inputs, {}, call.site))


def transformed(transform: Transform, call: Call) -> Value:
    """``vmap(f)(x)`` and ``grad(f)(x)``: the function runs, with batched arguments, or with ones that require grad."""
    m, inputs = call.m, [call.m.promote(arg) for arg in call.args]
    if transform.kind == "vmap":
        dims, batched = m.see(transform.dims), m.state[BATCHED]
        outside = frozenset(batched)
        axes = dims.items if isinstance(dims, Tuple) else ()
        for index, arg in enumerate(inputs):
            if isinstance(arg, Tensor) and (index >= len(axes) or m.see(axes[index]) != NONE):
                row = Tensor(arg.storage, arg.cell, arg.view, arg.contiguous, dtype=arg.dtype)
                inputs[index] = row
                m.state.set(batched, row, True)
        result = m.call(transform.function, inputs, call.kwargs, call.site)
        for tensor in batched.keys() - outside:
            m.state.set(batched, tensor, False)
        return result
    chosen = m.see(transform.dims)
    numbers = chosen.items if isinstance(chosen, Tuple) else (chosen,)
    for index, arg in enumerate(inputs):
        if chosen == _ALL or Const(index) in numbers:
            inputs[index] = _requiring_grad(m, arg)
    events.reach(m, (m.call(transform.function, inputs, call.kwargs, call.site),))
    return Unknown()


def _requiring_grad(m: Trace, value: Value) -> Value:
    """The same value with new tensors that require grad in place of its own, as they are in what is differentiated."""
    value = m.see(value)
    if isinstance(value, Tensor):
        leaf = Tensor(cell=Cell(Grad.YES, leaf=False))
        if m.state[BATCHED].get(value):
            m.state.set(m.state[BATCHED], leaf, True)
        return leaf
    if isinstance(value, Tuple):
        return Tuple(tuple([_requiring_grad(m, item) for item in value.items]))
    if isinstance(value, List):
        held = m.state.get(value)
        return List([_requiring_grad(m, item) for item in held.items], held.open)
    if isinstance(value, Dict):
        table = m.state.get(value)
        return Dict({key: _requiring_grad(m, item) for key, item in table.items.items()}, table.open)
    return value


@model("torch.func.vjp", "functorch.vjp", "torch.func.linearize")
def _vjp(call: Call) -> Value | None:
    """The function runs at once; the result of ``vjp`` is what it returns, and a function that goes back."""
    if not call.args:
        return None
    inputs = list(call.args[1:])
    transformed(Transform("grad", call.args[0], _ALL), Call(call.m, call.name, inputs, {}, call.site))
    return Tuple((Unknown(), Unknown()))


@model("torch.func.functional_call", "torch.nn.utils.stateless.functional_call")
def _functional_call(call: Call) -> Value | None:
    """A module called with other parameters, which it saves as it would its own."""
    if len(call.args) < 2:
        return None
    m, given = call.m, call.seen(1)
    values = list(m.state.get(given).items.values()) if isinstance(given, Dict) else [given]
    held = [tensor for value in values for tensor in holdings.tensors_in(m, value)]
    grad = max((holdings.reach(m, value) for value in (*call.args, *held)), default=Grad.NO)
    if not m.grad_mode or not grad or m.state.modes.get("autocast"):
        return Unknown()
    saves = tuple(operators.keep(m, "functional_call", "parameters", tensor.storage, call.site) for tensor in held)
    for tensor in held:
        events.record(m, tensor)
    node = Node("functional_call", saves, m.history(*call.args, *held))
    return Unknown(grad, node, likely=True)
