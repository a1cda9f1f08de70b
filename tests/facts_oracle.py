"""The oracle of test_facts: PyTorch says whether a tensor was saved, by refusing the backward pass after it changed.

It shares nothing with the generator of the table, which watches what autograd packs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map


class Undecided(Exception):
    """The call or its backward fails for a reason of its own: this sample says nothing."""


def floats(*shape: int) -> torch.Tensor:
    return torch.rand(shape) - 0.5


def tensors_in(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def is_saved(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    requires: Sequence[torch.Tensor],
    overwritten: Sequence[torch.Tensor] | int,
) -> bool:
    """Does the backward pass raise when these arguments, or the output of this index, are overwritten before it?

    `requires`: the arguments that require grad.
    """
    raises = _backward_raises(function, args, kwargs, requires, overwritten)
    if raises and _backward_raises(function, args, kwargs, requires, ()):
        raise Undecided("the backward pass fails by itself")
    return raises


def _backward_raises(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    requires: Sequence[torch.Tensor],
    overwritten: Sequence[torch.Tensor] | int,
) -> bool:
    copies: dict[int, torch.Tensor] = {}
    leaves = []
    for t in tensors_in((list(args), kwargs)):
        copy = t.detach().clone()
        if any(t is r for r in requires):
            leaves.append(copy.requires_grad_())
            copy = copy.clone()  # not a leaf: it may be overwritten
        copies[id(t)] = copy

    def swap(leaf: Any) -> Any:
        return copies[id(leaf)] if isinstance(leaf, torch.Tensor) else leaf

    torch.manual_seed(0)
    try:
        result = function(*tree_map(swap, list(args)), **tree_map(swap, dict(kwargs)))
    except Exception as error:
        raise Undecided from error
    outputs = tensors_in(result if result is not None else list(copies.values()))  # x[i] = y returns nothing
    outputs = [t for t in outputs if t.requires_grad]
    parts = list(result) if isinstance(result, tuple) else [result]
    if isinstance(overwritten, int) and overwritten >= len(parts):
        raise Undecided("called with an option that is switched off")
    targets = tensors_in(parts[overwritten]) if isinstance(overwritten, int) else [copies[id(t)] for t in overwritten]
    if not outputs:
        return False
    for t in targets:
        t.detach().zero_()  # shares the version counter
    try:
        torch.autograd.grad(outputs, leaves, [torch.ones_like(t) for t in outputs], allow_unused=True)
    except RuntimeError as error:
        if "modified by an inplace operation" in str(error):
            return True
        raise Undecided from error
    return False
