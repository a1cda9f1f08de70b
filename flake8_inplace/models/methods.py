"""Methods and attributes of tensors."""

from __future__ import annotations

from ..heap.values import NONE, Bindings, CellState, Const, DType, Grad, Tensor, Unknown, Value, View, constant
from ..program.site import Site
from ..torchfacts import ops as facts
from ..torchfacts.contents import MAKING, METADATA, REPLACING
from ..torchfacts.refusals import refuses_grad
from ..trace import devices, events
from ..trace.callables import Method
from ..trace.holdings import depth_of
from ..trace.log import WRITES
from ..trace.trace import Trace
from . import arrays, gradients, registry
from .overloads import apply
from .tensors import SAME_METADATA, VIEWS, data, require_grad, unknown_call

TENSOR = "torch.Tensor"

QUIET = METADATA | REPLACING | MAKING
QUIET |= {*"append extend insert clear columns dtypes empty".split()}
QUIET |= {*"requires_grad_ register_hook retain_grad data detach_ resize_ backward names".split()}
"""Attributes and methods that don't read the contents of a tensor, list or frame, or that replace all of them."""
INDEXING = frozenset({"gather", "index_select"})
"""Methods that read the elements of a tensor that a tensor of integers selects."""
TAKING = INDEXING | {"narrow", "select", "masked_select"}
"""Methods that read some elements of a tensor, as a subscript does."""

_POINTING = frozenset("storage untyped_storage storage_type data_ptr const_data_ptr".split())
"""Methods whose result leads to the memory of a tensor."""


def method(m: Trace, tensor: Tensor, name: str, args: list[Value], kwargs: Bindings, site: Site) -> Value:
    """Call a method of a tensor: by its model, or by the facts."""
    made = registry.call_method(registry.Call(m, name, args, kwargs, site), tensor, TENSOR)
    if made is not None:
        return made
    if refuses_grad(name) and m.grad(tensor) is Grad.YES:
        m.refuse("no grad allowed", site, depth=depth_of(m, tensor), other=tensor)
    if name in facts.no_bump_methods():
        return tensor
    if name in facts.scalar_methods():
        if name in _POINTING:
            events.hand_over(m, (tensor,))
        return Unknown(scalar=True)
    ops = facts.lookup(f"Tensor.{name}")
    if ops:
        return apply(m, ops, [tensor, *args], kwargs, site)
    return unknown_call(m, tensor, *args, *kwargs.values())


@registry.method(TENSOR, "backward")
def _backward(call: registry.Call, tensor: Tensor) -> Value:
    gradients.backward(call.m, [tensor], call.kwargs, call.site)
    return NONE


@registry.method(TENSOR, "detach_")
def _detach(call: registry.Call, tensor: Tensor) -> Value:
    if call.m.state.modes.get("inference"):
        return tensor  # where nothing is recorded, it has nothing to do
    if tensor.view is not View.NONE and not tensor.storage.inference:
        call.m.refuse("detach", call.site, depth=depth_of(call.m, tensor), other=tensor)
    else:
        events.detach(call.m, tensor, call.site)
    call.m.state.put(tensor.cell, CellState(Grad.NO, None, True))
    return tensor


@registry.model("torch.detach_")
def _detach_function(call: registry.Call) -> Value | None:
    tensor = call.m.promote(call.args[0]) if call.args else NONE
    return _detach(call, tensor) if isinstance(tensor, Tensor) else None


@registry.method(TENSOR, "requires_grad_")
def _requires_grad(call: registry.Call, tensor: Tensor) -> Value:
    require_grad(call.m, tensor, constant(call.argument(0, "requires_grad")) is not False, call.site)
    return tensor


@registry.method(TENSOR, "is_floating_point")
def _is_floating_point(call: registry.Call, tensor: Tensor) -> Value:
    """Integers never require grad."""
    m = call.m
    if tensor.dtype is DType.INTEGRAL:
        return Const(False)
    if tensor.dtype in (DType.LOWER, DType.DOUBLE) or m.grad(tensor) is Grad.YES:
        return Const(True)
    symbol = m.symbol(tensor.cell, "is_floating_point", scalar=True)
    m.tests_grad(symbol, tensor.cell)
    return symbol


@registry.model("torch.is_floating_point")
def _is_floating_point_of(call: registry.Call) -> Value | None:
    tensor = call.m.promote(call.args[0]) if call.args else NONE
    return _is_floating_point(call, tensor) if isinstance(tensor, Tensor) else None


@registry.method(TENSOR, "numpy", "__array__")
def _numpy(call: registry.Call, tensor: Tensor) -> Value:
    return arrays.of_tensor(call.m, tensor)


@registry.method(TENSOR, "tolist")
def _no_tensor(call: registry.Call, tensor: Tensor) -> Value:
    return Unknown(scalar=True)


@registry.method(TENSOR, "register_hook", "retain_grad")
def _nothing(call: registry.Call, tensor: Tensor) -> Value:
    events.hand_over(call.m, (tensor,))  # the hook stays with the tensor
    return NONE


@registry.method(TENSOR, "size", "dim", "numel", "nelement")
def _size(call: registry.Call, tensor: Tensor) -> Value:
    return call.m.symbol(tensor, call.name, *call.args, scalar=True)


@registry.method(TENSOR, "cuda", "clone")
def _copy(call: registry.Call, tensor: Tensor) -> Value:
    made = apply(call.m, facts.lookup("Tensor.clone"), [tensor], {}, call.site)
    if isinstance(made, Tensor):
        made.storage.op = call.name
    return made


def attribute(m: Trace, tensor: Tensor, name: str, site: Site) -> Value:
    """Read an attribute of a tensor."""
    if name == "data":
        return data(m, tensor)
    if name == "grad":
        return gradients.gradient(m, tensor)
    if name == "is_leaf" and m.grad(tensor) is Grad.YES:
        return Const(m.cell(tensor).leaf)
    if name == "dtype":
        dtype = m.symbol(tensor, name, scalar=True)
        m.tests_grad(m.symbol(dtype, "is_floating_point", scalar=True), tensor.cell)
        return dtype
    if name == "device":
        return devices.of(m, tensor)
    if name in SAME_METADATA:
        return m.symbol(tensor, name, scalar=True)
    if name in VIEWS:
        return apply(m, facts.lookup(f"Tensor.{name}"), [tensor], {}, site)
    if name in facts.tensor_methods():
        if name == "requires_grad":
            return Const(False) if _is_new_constant(m, tensor) else m.ask(tensor.cell)
        if name in facts.scalar_methods() and name in ("is_cuda", "grad_fn", "is_sparse"):
            return m.symbol(tensor.cell, name, scalar=True)
        return Method(tensor, name, site.node)
    if "style" in m.extra and name[-1] == "_" != name[-2:-1]:
        m.refuse("style missing", site, other=tensor)
    return Unknown()


def _is_new_constant(m: Trace, tensor: Tensor) -> bool:
    """Whether a tensor surely has no gradient: a function such as ``randn`` made it, and nothing was done to it."""
    changed = tensor.cell in m.state.store or m.state[WRITES].get(tensor.storage)
    if changed or tensor.made is None or tensor.cell.initial.grad is not Grad.NO:
        return False
    made_by = facts.lookup(f"torch.{tensor.storage.op}")
    return bool(made_by) and not any(out.differentiable for op in made_by for out in op.outs)
