"""Conversions: whether ``to``, ``float``, ``cpu`` and ``contiguous`` make a copy, or return the tensor itself."""

from __future__ import annotations

from collections.abc import Iterable

from ..heap.regions import base_of
from ..heap.values import (
    NONE,
    UNCERTAIN,
    Bindings,
    Const,
    DType,
    Grad,
    List,
    Ref,
    Slice,
    Tensor,
    Tuple,
    Value,
    View,
    constant,
)
from ..torchfacts import kinds
from ..torchfacts import ops as facts
from ..trace import devices, holdings
from ..trace.trace import Trace
from .registry import Call, model

_FLOAT = frozenset({"torch.float", "torch.float32", "torch.FloatTensor", "torch.get_default_dtype"})
DEPTH = 4
"""How many operators back it is asked what a tensor was computed from."""


def copies(m: Trace, op: facts.Op, base: Tensor, wanted: DType | None, bound: Bindings) -> bool:
    """Whether a conversion is to a type that its tensor surely does not have, and so copies."""
    if op.name in ("double", "half", "bfloat16"):
        return base.dtype is not wanted
    if bound.get("copy", NONE) == Const(True):
        return True
    if wanted is DType.INTEGRAL:
        return m.grad(base) is Grad.YES or base.dtype is DType.LOWER or _by_name(m, bound)
    if base.dtype in (DType.LOWER, DType.DOUBLE, DType.INTEGRAL) and op.name == "float":
        return True
    if wanted is DType.DOUBLE and base.dtype is DType.UNKNOWN:
        return _by_name(m, bound) and not _is_made_as(m, base, _types(m, bound.values()))
    return base.dtype is not wanted and _by_name(m, bound)


def _by_name(m: Trace, bound: Bindings) -> bool:
    """Whether a conversion names another type than the one that tensors have from the start."""
    return not _types(m, bound.values()) <= _FLOAT


def _types(m: Trace, values: Iterable[Value]) -> set[str]:
    """The names of PyTorch among these values: ``torch.float64``."""
    names = (value.name if isinstance(value, Ref) else constant(value) for value in map(m.see, values))
    return {name for name in names if isinstance(name, str) and name.startswith("torch.")}


def _is_made_as(m: Trace, tensor: Tensor, types: set[str], depth: int = DEPTH) -> bool:
    """Whether a tensor was made with one of these types, or computed from one that was."""
    base = tensor.region.base if tensor.region is not None else tensor
    made = base.made
    if made is None or not depth:
        return False
    operands = [operand for operand in map(m.see, made.values) if isinstance(operand, Tensor)]
    return not types.isdisjoint(_types(m, made.values)) or any(
        _is_made_as(m, operand, types, depth - 1) for operand in operands
    )


@model("torch.device")
def _device(call: Call) -> Value | None:
    """A device, which is no type of elements: a conversion to it changes nothing else."""
    if len(call.values) != 1:
        return None
    found = call.m.symbol("device", call.site.expression)
    devices.make(call.m, found, call.values[0])
    return found


def _device_asked(m: Trace, op: facts.Op, bound: Bindings) -> Value:
    """The device that a conversion asks for, if it asks for nothing else; else None."""
    if op.name == "cpu":
        return Const("cpu")
    given = [m.see(value) for name, value in bound.items() if name not in ("self", "non_blocking")]
    wanted = [value for value in given if value != NONE]
    return wanted[0] if op.name == "to" and len(wanted) == 1 else NONE


def moves_to_cpu(m: Trace, op: facts.Op, bound: Bindings) -> bool:
    """Whether a conversion asks for the CPU, and for nothing else."""
    device = _device_asked(m, op, bound)
    return device != NONE and devices.is_cpu(m, device) is True


def only_moves(m: Trace, op: facts.Op, bound: Bindings) -> bool:
    """Whether a conversion asks for a device, and for nothing else."""
    device = _device_asked(m, op, bound)
    return op.name == "to" and (devices.is_device(m, device) or devices.is_name(device))


def is_held(m: Trace, tensor: Tensor) -> bool:
    """Whether a variable, or what one holds, may have a tensor: not ``torch.zeros(3)`` in an expression."""
    made, scope = tensor.made, m.stack.frames[-1] if m.stack.frames else None
    if made is None or made.op == "detach" or tensor.region is not None or scope is None or made.time < scope.born:
        return True
    seen: set[int] = set()
    while scope is not None:
        for value in scope.vars.values():
            if any(each.storage is tensor.storage for each in holdings.held(m, value, seen)):
                return True
        scope = scope.parent
    return False


def changes_nothing(m: Trace, op: facts.Op, base: Tensor, bound: Bindings) -> bool:
    """Whether a conversion surely returns the tensor itself: ``contiguous()`` or ``float()`` of what is so already."""
    if op.name == "contiguous":
        return is_plain(m, base) and len([value for value in bound.values() if m.see(value) != NONE]) == 1
    if op.name not in ("to", "type", "float", "cpu"):
        return False
    given = [m.see(value) for name, value in bound.items() if name != "self"]
    asked = [value.name if isinstance(value, Ref) else constant(value) for value in given if value != NONE]
    if op.name in ("to", "cpu") and asked in ([], ["cpu"]) and (base.storage.numpy or is_on_cpu(m, base)):
        return True  # numpy's memory is the CPU's
    sure = bool(asked) or op.name in ("float", "cpu")
    return sure and is_plain(m, base) and all(isinstance(name, str) and name in _FLOAT | {"cpu"} for name in asked)


def may_change_nothing(m: Trace, op: facts.Op, base: Tensor, bound: Bindings) -> bool:
    """Whether a conversion most likely returns the tensor itself: to another device, say, where there may be one."""
    if op.name == "contiguous":  # of a view, it is likely to make a copy
        return True
    device = _device_asked(m, op, bound)
    if device != NONE and devices.is_cpu(m, device) is False:
        return False
    if op.name == "to" and devices.is_device(m, device):
        return True  # where it is the CPU, all tensors of the program are there already
    if base.storage in m.backward.readonly and op.name != "float" and not _types(m, bound.values()):
        return False  # a backward that asks for the type of the gradient takes it for another one
    return op.name in ("to", "type", "type_as", "float") and _is_float(m, base)


def is_of_any_type(m: Trace, tensor: Tensor, depth: int = DEPTH) -> bool:
    """Whether nothing tells the type of a tensor: it, or what it is joined of, is the caller's."""
    base = base_of(tensor)
    if base.dtype is not DType.UNKNOWN or m.grad(tensor) is Grad.YES:
        return False
    if base.made is None or base.made.op not in _GATHERING or not depth:
        return base.made is None
    operands = [value for value in _operands(m, base.made.values) if isinstance(value, Tensor)]
    return all(is_of_any_type(m, operand, depth - 1) for operand in operands)


def _operands(m: Trace, values: Iterable[Value]) -> list[Value]:
    """The operands of an operator, and the elements of lists among them."""
    given = [m.see(value) for value in values]
    lists = [m.state.get(value).items for value in given if isinstance(value, List)]
    return [m.see(operand) for operand in (*given, *(item for items in lists for item in items))]


def _is_float(m: Trace, tensor: Tensor, depth: int = DEPTH) -> bool:
    """Whether a tensor has the type that tensors have from the start, as far as its operators tell."""
    if tensor.region is not None:
        return _is_float(m, tensor.region.base, depth)
    if tensor.dtype is not DType.UNKNOWN or not depth:
        return False
    made = tensor.made
    if m.grad(tensor) is Grad.YES or made is None:
        return m.grad(tensor) is Grad.YES
    if made.op.lower() in _FLOATING or is_plain(m, tensor, anywhere=True):
        return True
    operands = _operands(m, made.values)
    keeps = made.op in _KEEPING or made.op in _GATHERING
    return keeps and any(isinstance(operand, Tensor) and _is_float(m, operand, depth - 1) for operand in operands)


def has_type_of_data(m: Trace, tensor: Tensor) -> bool:
    """Whether a tensor has the type of what it was made of, which isn't known: ``torch.tensor(rows)``."""
    made = tensor.made
    return made is not None and made.op == "tensor" and not (made.values and _has_fraction(m, made.values[0]))


def is_plain(m: Trace, tensor: Tensor, depth: int = 4, anywhere: bool = False) -> bool:
    """Whether a tensor surely is contiguous, of the default type and on the CPU: made here, or computed from such.

    ``anywhere``: it may be on another device.
    """
    made = tensor.made
    if made is None or tensor.view is not View.NONE or not depth:
        return False
    if not anywhere and _may_be_moved(tensor):
        return False
    if made.op in _MAKING:
        options = [m.see(value) for value in made.values[1:]]
        return all(isinstance(value, (Const, Tuple)) and type(constant(value)) is not str for value in options)
    if made.op == "tensor":
        return len(made.values) == 1 and _has_fraction(m, made.values[0])
    if made.op in ("arange", "full"):
        return any(_has_fraction(m, value) for value in made.values)
    operands = [operand for operand in map(m.see, made.values) if not isinstance(operand, (Const, List, Tuple, Slice))]
    tensors = [operand for operand in operands if isinstance(operand, Tensor)]
    return (
        made.op in _KEEPING
        and bool(tensors)
        and all(isinstance(operand, Tensor) and is_plain(m, operand, depth - 1, anywhere) for operand in operands)
    )


def is_on_cpu(m: Trace, tensor: Tensor, depth: int = 4) -> bool:
    """Whether a tensor surely is on the CPU: made here, or computed from such."""
    made = base_of(tensor).made
    if made is None or not depth or _may_be_moved(tensor):
        return False
    if made.op in _MAKING | _MAKING_OF:
        options = [m.see(value) for value in made.values[1:]]
        return all(isinstance(value, (Const, Tuple, Ref)) and type(constant(value)) is not str for value in options)
    given = [m.see(value) for value in made.values]
    operands = [value for value in given if not isinstance(value, (Const, List, Tuple, Slice))]
    found = [isinstance(operand, Tensor) and is_on_cpu(m, operand, depth - 1) for operand in operands]
    return any(found) if made.op.lower() in _TOGETHER else bool(found) and all(found)


def _may_be_moved(tensor: Tensor) -> bool:
    """Whether a tensor may have been moved to another device."""
    return tensor.storage.op in ("cuda", "to") or not {tensor.origin, base_of(tensor).origin}.isdisjoint(UNCERTAIN)


def _has_fraction(m: Trace, value: Value) -> bool:
    """Whether a list of lists of numbers holds one with a fraction."""
    value = m.see(value)
    if isinstance(value, List):
        value = Tuple(m.state.get(value).items)
    if isinstance(value, Tuple):
        return any(_has_fraction(m, item) for item in value.items)
    return isinstance(value, Const) and type(value.value) is float


_MAKING = frozenset({"rand", "randn", "linspace", "zeros", "ones"})
_MAKING_OF = frozenset({"tensor", "arange", "full"})
_TOGETHER = frozenset("linear matmul mm bmm mv addmm conv1d conv2d layernorm layer_norm batchnorm1d embedding".split())
"""Operators, and layers in lower case, whose operands have to be on one device, as none of them is a number."""
_FLOATING = frozenset("rand randn rand_like randn_like linspace normal linear matmul mm bmm mv conv1d conv2d".split())
_FLOATING |= frozenset(
    "sigmoid tanh sin cos erf softmax log_softmax exp log sqrt mean std var norm layer_norm softplus".split()
)
"""Operators, and layers in lower case, whose result is of a floating-point type."""
_GATHERING = frozenset("cat concat stack hstack vstack flip roll index index_select gather".split())
"""Operators whose result has the type of what they take the elements of."""
_KEEPING = kinds.ELEMENTWISE | {"softmax", "log_softmax", "detach"}
"""Operators whose result has the type and the device of their operands."""
