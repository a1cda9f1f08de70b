"""Conditions on the shapes of an operator's tensors. For the generator and for the analysis."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod


def relation(shape: Sequence[int], first: Sequence[int]) -> str | None:
    """How a shape relates to that of the first tensor.

    "same", "other" if it is broadcast to it, "batch" if it is a batch of matrices and the first a single one.
    """
    if tuple(shape) == tuple(first):
        return "same"
    if len(shape) > 2 >= len(first) and prod(shape[:-2]) > 1:
        return "batch"
    fits = all(size in (1, whole) for size, whole in zip(reversed(shape), reversed(first), strict=False))
    return "other" if fits and len(shape) <= len(first) else None


def holds_sizes(shape: Sequence[int], sizes: Sequence[int], dims: Sequence[int] | None) -> bool:
    """Whether a tensor has at least these sizes in these dimensions, or in its last ones; -1 keeps a size."""
    where = range(-len(sizes), 0) if dims is None else dims
    there = len(where) == len(sizes) and all(-len(shape) <= dim < len(shape) for dim in where)
    return there and all(size <= shape[dim] for size, dim in zip(sizes, where, strict=True))
