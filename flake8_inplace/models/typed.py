"""Tensors that the class of their type makes: ``torch.Tensor(3, 4)``."""

from __future__ import annotations

from ..heap.values import Array, List, Ref, Tuple, Value, is_number
from ..torchfacts import ops as facts
from . import overloads
from .registry import Call, model

_TYPED = {
    "Tensor": "",
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}
"""The types of tensors that have a class, which makes a tensor of sizes, or of the numbers in a sequence."""


@model(*(f"torch.{name}" for name in _TYPED), *(f"torch.cuda.{name}" for name, kind in _TYPED.items() if kind))
def _typed(call: Call) -> Value | None:
    """``torch.Tensor(3, 4)``, ``torch.LongTensor([1, 2])``. Of a tensor, it makes one over the same memory."""
    m, kind = call.m, _TYPED[call.name.rpartition(".")[2]]
    given: dict[str, Value] = {"dtype": Ref(f"torch.{kind}")} if kind else {}
    if len(call.args) > 1 or all(map(is_number, map(m.see, call.args))):
        return overloads.apply(m, facts.lookup("torch.empty"), [Tuple(tuple(call.args))], given, call.site)
    if isinstance(call.seen(0), (List, Tuple, Array)):
        return overloads.apply(m, facts.lookup("torch.tensor"), call.args, given, call.site)
    return None
