"""What is known of the types of elements: what conversions and operators make of them."""

from __future__ import annotations

from ..heap.state import Declared, same_or_none
from ..heap.values import (
    NONE,
    Bindings,
    CellState,
    Const,
    DType,
    Grad,
    List,
    Ref,
    Tensor,
    Tuple,
    Unknown,
    Value,
)
from ..torchfacts import autocast, kinds
from ..torchfacts import ops as facts
from ..trace import devices
from ..trace.callables import Autocast
from ..trace.holdings import unknowns
from ..trace.trace import Trace

_TYPES = dict.fromkeys("bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 short int long".split(), DType.INTEGRAL)
_TYPES |= {f"{name}Tensor": DType.INTEGRAL for name in "Bool Byte Char Short Int Long".split()}
_TYPES |= dict.fromkeys("bfloat16 half float16 BFloat16Tensor HalfTensor".split(), DType.LOWER)
_TYPES |= dict.fromkeys("float64 double DoubleTensor".split(), DType.DOUBLE)
_TYPES |= dict.fromkeys("float float32 FloatTensor".split(), DType.UNKNOWN)
_CONVERSIONS = {"half": DType.LOWER, "bfloat16": DType.LOWER, "float": DType.UNKNOWN, "double": DType.DOUBLE}
_WHOLE = frozenset({"randint", "randperm"})
_BITWISE = frozenset({"and", "or", "xor", "not"})
_TYPED_BY = {"tensor": "data", "as_tensor": "data", "full": "fill_value"}
"""The argument whose type is the type of the result, if no other is asked for."""
EXACT = frozenset(
    "add sub mul neg abs square clamp clamp_min clamp_max maximum minimum max min amax amin fmax fmin median sum prod "
    "cumsum cumprod cummax cummin diff floor_divide remainder fmod matmul mm bmm mv dot outer kron cat stack hstack "
    "vstack dstack column_stack block_diag cartesian_prod clone gather index_select take take_along_dim masked_select "
    "roll flip fliplr flipud rot90 repeat tile repeat_interleave pad unique unique_consecutive sort msort topk "
    "kthvalue where masked_fill scatter scatter_add scatter_reduce index_add index_copy index_fill index_put diag "
    "diag_embed tril triu".split()
)
"""Operators that compute integers of integers."""
_PROMOTE = ("input", "other", "min", "max")
"""Operands that make the result a fraction if they are one, also as numbers. ``value`` of ``masked_fill`` does not."""
_OTHER = kinds.SELECTING | {"target", "weight", "bias", "running_mean", "running_var"}
"""Operands that the type of a result does not depend on."""


def named(value: Value) -> DType | None:
    """The type that a value names, ``torch.long`` or ``"torch.LongTensor"``; None if it names none."""
    name = value.name if isinstance(value, Ref) else value.value if isinstance(value, Const) else None
    return _TYPES.get(name.rpartition(".")[2]) if isinstance(name, str) and name.startswith("torch.") else None


def asked(m: Trace, op: facts.Op, bound: Bindings) -> DType | None:
    """The type that a call asks for, by its name or by a tensor that has it; None if it asks for none."""
    if op.name in _CONVERSIONS:
        return _CONVERSIONS[op.name]
    if op.name in ("to", "type_as") and isinstance(other := m.see(bound.get("other", NONE)), Tensor):
        return other.dtype
    found = [dtype for value in bound.values() if (dtype := named(m.see(value))) is not None]
    if not found and m.see(bound.get("dtype", NONE)) != NONE:
        return DType.UNKNOWN  # ``dtype=x.dtype``
    if found or op.name not in ("to", "type"):
        return found[0] if found else None
    given = [m.see(value) for name, value in bound.items() if name != "self"]
    opaque = any(isinstance(value, Unknown) and not devices.is_device(m, value) for value in given)
    return DType.UNKNOWN if opaque else None


def names_one(m: Trace, op: facts.Op, bound: Bindings) -> bool:
    """Whether a call names a type: ``float()``, ``to(torch.float32)``."""
    return op.name in _CONVERSIONS or any(named(m.see(value)) is not None for value in bound.values())


def asks(op: facts.Op, bound: Bindings) -> bool:
    """Whether a call asks for a type, known or not: ``x.type(dtype)``, ``x.to(dtype=dtype)``."""
    return op.name == "type" or bound.get("dtype", NONE) != NONE


def of_result(m: Trace, op: facts.Op, integral: bool, operands: dict[str, list[Tensor]], bound: Bindings) -> DType:
    """The type of what an operator computes."""
    if integral:
        return DType.INTEGRAL
    wanted = asked(m, op, bound)
    if wanted is not None:
        return wanted
    mode = m.state.modes.get("autocast")
    if mode and autocast.lowers(op.name):
        return DType.LOWER if isinstance(mode, Autocast) else DType.UNKNOWN
    if mode and autocast.raises(op.name, mode.device if isinstance(mode, Autocast) else ""):
        return DType.UNKNOWN
    if op.name in _WHOLE or (op.name in _TYPED_BY and _whole(m, bound.get(_TYPED_BY[op.name], NONE))):
        return DType.INTEGRAL
    if op.name == "arange" and all(_whole(m, bound[name]) for name in ("start", "end", "step") if name in bound):
        return DType.INTEGRAL
    return _common(m, op, operands, bound)


def _common(m: Trace, op: facts.Op, operands: dict[str, list[Tensor]], bound: Bindings) -> DType:
    """The type that all operands have in common, where the operator keeps it."""
    counted = [p.name for p in op.params if p.kind != "other" and p.name not in _OTHER and p.name[:5] != "self."]
    if any(isinstance(seen, Unknown) for name in counted for seen in _parts(m, bound.get(name, NONE))):
        return DType.UNKNOWN
    types = {tensor.dtype for name in counted for tensor in operands.get(name, ())}
    if types == {DType.INTEGRAL}:
        exact = op.name.endswith("_like") or op.name.startswith("new_")
        return DType.INTEGRAL if exact or (op.name in EXACT and _integers(m, bound)) else DType.UNKNOWN
    floats = types - {DType.INTEGRAL}
    return next(iter(floats)) if len(floats) == 1 else DType.UNKNOWN


def _parts(m: Trace, value: Value) -> list[Value]:
    """A value, or what is in a list or tuple."""
    value = m.see(value)
    if isinstance(value, (Tuple, List)):
        return [m.see(item) for item in (value.items if isinstance(value, Tuple) else m.state.get(value).items)]
    return [value]


def _integers(m: Trace, bound: Bindings) -> bool:
    """Whether no operand is a number with a fraction, or may be one."""
    seen = [m.see(bound[name]) for name in _PROMOTE if name in bound]
    return all(isinstance(value, (Const, Tensor)) and type(getattr(value, "value", 0)) is not float for value in seen)


def _whole(m: Trace, value: Value) -> bool:
    """Whether a value is a whole number, or a list of lists of them."""
    value = m.see(value)
    if isinstance(value, Const):
        return type(value.value) in (int, bool)
    items = _parts(m, value) if isinstance(value, (Tuple, List)) else []
    return bool(items) and all(_whole(m, item) for item in items)


def note_whole_numbers(m: Trace, op: facts.Op, bound: Bindings, operands: dict[str, list[Tensor]]) -> None:
    """Note which operands surely are integers or truth values, since the operator takes no others there."""
    if op.name in ("eq", "ne") and _whole_number(bound.get("other", NONE)):
        for tensor in operands.get("self", ()):
            hold_whole_numbers(m, tensor)
    bitwise = op.name.strip("_").removeprefix("bitwise_") in _BITWISE
    for name in operands if bitwise else kinds.SELECTING.intersection(operands):
        for tensor in operands[name]:
            hold_whole_numbers(m, tensor)


NUMBERS: Declared[Unknown, bool | None] = Declared(same_or_none)
"""The unknown values that require no grad if they are tensors, since PyTorch took them for numbers."""


def note_numbers(m: Trace, ops: tuple[facts.Op, ...], bound: Bindings) -> None:
    """Note what a factory took for a number: ``torch.arange(0, n)``. It refuses a tensor that requires grad.

    A function that takes tensors, too, may be written in Python, and does with its numbers what it likes.
    """
    if any(param.kind != "other" for op in ops for param in op.params):
        return
    for value in bound.values():
        for each in unknowns(m, m.see(value)):
            if each.grad and not m.state[NUMBERS].get(each):
                m.state.set(m.state[NUMBERS], each, True)


def _whole_number(value: Value) -> bool:
    return isinstance(value, Const) and type(value.value) is int and value.value != 0


def hold_whole_numbers(m: Trace, tensor: Tensor) -> None:
    """Labels, ids and masks are what is compared with a whole number; if nothing says otherwise, it has no gradient.

    So are what indexes, and the operands of bitwise operators.
    """
    state = m.cell(tensor)
    if state.grad is Grad.MAYBE:
        m.state.put(tensor.cell, CellState(Grad.NO, None, state.leaf))
