"""Calls that differ from a sample in one option. Development only."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import torch

from . import handwritten
from .notation import DTYPE, SHAPE, Op, Param
from .sizes import relation

NUMBERS: tuple[Any, ...] = (True, False, 0, 1, 2, 3, 4, 5, -1, -2, 0.5, 1.5, 2.5, math.inf, -math.inf)
POOL: tuple[Any, ...] = (None, *NUMBERS, (0, 1), (-2, -1), (1, 1), (2, 3), (1, 1, 1))
"""What is tried for an option of any name. A call that fails tells nothing, and costs little."""
WORDS = """
none mean sum max min prod amax amin backward forward ortho reflect replicate constant circular zeros border nearest
nearest-exact linear bilinear bicubic trilinear area fro nuc tanh relu gelu trunc floor left right ij xy same valid
L U gels gelsy gelsd gelss gesvd reduced complete r higher lower midpoint
use_mm_for_euclid_dist donot_use_mm_for_euclid_dist
""".split()
"""The words among them."""
Variation = tuple[str, tuple[Any, ...], dict[str, Any]]
"""What is changed, and the arguments of the call."""
ELSEWHERE = frozenset("out dtype device generator requires_grad inplace memory_format layout pin_memory".split())
"""Options that say where results go and of which type they are: the facts are those of ordinary floats."""


def variations(
    op: Op, args: Sequence[Any], kwargs: dict[str, Any], function: Callable[..., Any]
) -> Iterator[Variation]:
    """Each option of a call given each other value, and each optional tensor left out and in another shape.

    Yields what changed, and the call.
    """
    first = None
    for index, p in enumerate(op.params):
        given = kwargs.get(p.name, args[index] if index < len(args) and not p.kwonly else None)
        changes = [(p.name, value) for value in candidates(p, given, function)]
        if p.kind == "tensor" and isinstance(given, torch.Tensor):
            changes += [(p.name + SHAPE, value) for value in reshaped(p, given, first) if has_shape(p)]
            changes += [(p.name + DTYPE, given.double())] * (given.dtype is torch.float32 and has_shape(p))
            first = given if first is None else first
        for changed, value in changes:
            if p.varargs:
                yield changed, (*args[:index], value), kwargs
            elif index < len(args) and not p.kwonly:
                yield changed, (*args[:index], value, *args[index + 1 :]), kwargs
            else:
                yield changed, tuple(args), {**kwargs, p.name: value}


def has_shape(p: Param) -> bool:
    """Whether conditions speak of the shape of a parameter: a mask that is to be broadcast is copied, and a batch."""
    return p.kind == "tensor" and not p.name.startswith("self.")


def fitted(op: Op) -> str | None:
    """The option of an overload whose sizes decide whether it copies its first tensor."""
    return next((p.name for p in op.params if p.name == handwritten.FITTED.get(op.name) and not p.optional), None)


def reshaped(p: Param, given: torch.Tensor, first: torch.Tensor | None) -> Iterator[torch.Tensor]:
    """A tensor in other shapes: an operand that is one matrix as a batch of two of them.

    An optional tensor is broadcast to the shape of the first one; or if it was, it gets this shape itself.
    """
    if not given.dim() or not given.numel() or given.layout != torch.strided:
        return
    if first is None:
        yield given.flatten()[:1].reshape(()).clone()
        return
    if not p.optional:
        if given.dim() == 2 and first.dim() <= 2:
            yield torch.stack((given, given))
    elif given.shape == first.shape:
        yield from (given.narrow(dim, 0, 1).clone() for dim in range(given.dim()) if given.shape[dim] > 1)
    elif relation(given.shape, first.shape) == "other":
        yield given.expand_as(first).clone()


def candidates(p: Param, given: Any, function: Callable[..., Any]) -> Iterator[Any]:
    """The values to try for a parameter in place of the one that is given."""
    if p.kind != "other":
        yield from (None,) * (p.optional and given is not None)
    elif isinstance(given, bool):
        yield not given
    elif p.name not in ELSEWHERE:
        words = WORDS if isinstance(given, str) or p.name.endswith("mode") else vocabulary(function)
        for value in (*(() if isinstance(given, str) else POOL), *words):
            if type(value) is not type(given) or value != given:
                yield value


@cache
def vocabulary(function: Callable[..., Any]) -> tuple[str, ...]:
    """The words that may be values of an option: those the documentation quotes, among the known ones."""
    quoted = set(re.findall(r"""["'`]([\w-]+)["'`]""", inspect.getdoc(function) or ""))
    return tuple(word for word in WORDS if word in quoted)
