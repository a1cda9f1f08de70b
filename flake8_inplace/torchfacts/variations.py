"""Calls that differ from a sample in one option. Development only."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import torch

from .ops import SHAPE, Op, Param

NUMBERS: tuple[Any, ...] = (True, False, 0, 1, 2, 3, 4, -1, -2, 0.5, 1.5, 2.5, math.inf, -math.inf)
POOL: tuple[Any, ...] = (None, *NUMBERS, (0, 1), (-2, -1), (1, 1), (2, 3), (1, 1, 1))
"""What is tried for an option of any name. A call that fails tells nothing, and costs little."""
WORDS = """
none mean sum max min prod amax amin backward forward ortho reflect replicate constant circular zeros border nearest
nearest-exact linear bilinear bicubic trilinear area fro nuc tanh relu gelu trunc floor left right ij xy same valid
L U gels gelsy gelsd gelss gesvd reduced complete r higher lower midpoint
use_mm_for_euclid_dist donot_use_mm_for_euclid_dist
""".split()
"""The words among them."""
ELSEWHERE = frozenset("out dtype device generator requires_grad inplace memory_format layout pin_memory".split())
"""Options that say where results go and of which type they are: the facts are those of ordinary floats."""


def variations(
    op: Op, args: Sequence[Any], kwargs: dict[str, Any], function: Callable[..., Any]
) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Each option of a call given each other value, and each optional tensor left out and in another shape.

    Yields what changed, and the call.
    """
    first = None
    for index, p in enumerate(op.params):
        given = kwargs.get(p.name, args[index] if index < len(args) and not p.kwonly else None)
        changes = [(p.name, value) for value in candidates(p, given, function)]
        if p.kind == "tensor" and isinstance(given, torch.Tensor):
            changes += [(p.name + SHAPE, value) for value in reshaped(given, first) if has_shape(p)]
            first = given if first is None else first
        for changed, value in changes:
            if p.varargs:
                yield changed, (*args[:index], value), kwargs
            elif index < len(args) and not p.kwonly:
                yield changed, (*args[:index], value, *args[index + 1 :]), kwargs
            else:
                yield changed, tuple(args), {**kwargs, p.name: value}


def has_shape(p: Param) -> bool:
    """Whether conditions speak of the shape of a parameter: some operators copy a mask that is to be broadcast."""
    return p.kind == "tensor" and p.optional and not p.name.startswith("self.")


def reshaped(given: torch.Tensor, first: torch.Tensor | None) -> Iterator[torch.Tensor]:
    """A tensor that is broadcast to the shape of the first one; or if it was, one that has this shape itself."""
    if first is None or not given.dim() or given.layout != torch.strided:
        return
    if given.shape == first.shape:
        yield from (given.narrow(dim, 0, 1).clone() for dim in range(given.dim()) if given.shape[dim] > 1)
    elif shape_of(given, first) is not None:
        yield given.expand_as(first).clone()


def shape_of(given: torch.Tensor, first: torch.Tensor) -> str | None:
    """How the shape of a tensor relates to that of the first one: "same", or "other" if it is broadcast to it."""
    if given.shape == first.shape:
        return "same"
    sizes = zip(reversed(given.shape), reversed(first.shape), strict=False)
    fits = given.dim() <= first.dim() and all(size in (1, whole) for size, whole in sizes)
    return "other" if fits else None


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
