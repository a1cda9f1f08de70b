"""einops: what its patterns say of the memory of a result. Its functions take arrays of any library."""

from __future__ import annotations

import re
from itertools import pairwise

from ..heap.values import Ref, Tensor, Value, constant
from ..torchfacts import ops as facts
from ..trace.callables import Partial
from ..trace.holdings import tensors_in
from . import overloads, tensors
from .registry import Call, model

_WORD = re.compile(r"\([^()]*\)|[^\s()]+")


@model(*[f"einops.{name}" for name in "rearrange repeat reduce einsum pack unpack".split()])
def _einops(call: Call) -> Value | None:
    """A call with at least one tensor. Without, it says nothing of what it was given."""
    m, given = call.m, call.seen(0)
    if not any(True for _ in tensors_in(m, given)):
        return tensors.unknown_call(m, *call.values)
    pattern, form = constant(m.see(call.argument(1, "pattern"))), ""
    if call.name in ("einops.rearrange", "einops.repeat") and isinstance(given, Tensor) and isinstance(pattern, str):
        single = {name for name, length in call.kwargs.items() if constant(m.see(length)) == 1}
        form = memory_of(pattern, frozenset(single | {"1", "()"}))
    ops = facts.lookup(f"{call.name}({form})") if form else facts.lookup(call.name)
    options = {param.name for op in ops for param in op.params}
    kwargs = {name: value for name, value in call.kwargs.items() if name in options}  # the others are lengths of axes
    return overloads.apply(m, ops, call.args, kwargs, call.site)


@model("einops.layers.torch.Rearrange")
def _layer(call: Call) -> Value:
    """The layer as the function that it applies, with its pattern and the lengths of axes."""
    return Partial(Ref("einops.rearrange"), (), {**call.kwargs, "pattern": call.argument(0, "pattern")})


def memory_of(pattern: str, single: frozenset[str] = frozenset({"1", "()"})) -> str:
    """Whether the result of a pattern is a "view", an "expand"ed view or a "copy"; "" if it depends on the strides.

    ``single`` are axes of length one. Axes are merged by a copy unless they stand side by side in this order; where
    the operand has other strides than usual, they may be merged by a view all the same.
    """
    left, _, right = pattern.partition("->")
    known = set(_axes(left)) | single
    groups = [[axis for axis in _axes(word) if axis not in single] for word in _WORD.findall(right)]
    merged = any(len(group) > 1 for group in groups) or "(...)" in right
    if any(len(group) > 1 and not known.issuperset(group) for group in groups):
        return "copy"
    beside = frozenset(pairwise(axis for axis in _axes(left) if axis not in single))
    if not all(side in beside for group in groups for side in pairwise(group)):
        return "copy"
    if merged:
        return ""
    return "view" if all(map(known.issuperset, groups)) else "expand"


def _axes(words: str) -> list[str]:
    return re.findall(r"[^\s()]+", words)
