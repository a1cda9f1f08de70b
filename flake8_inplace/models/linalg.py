"""Functions of torch.linalg that copy what they are given in some orders of its dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from ..heap.values import NONE, Tensor, Unknown, Value
from ..torchfacts import ops as facts
from . import overloads, shapes
from .registry import Call, model


@model("torch.linalg.tensorsolve")
def _tensorsolve(call: Call) -> Value | None:
    """It moves the dimensions in ``dims`` to the end, and makes a matrix of the tensor: a view, or else a copy."""
    m, dims = call.m, call.m.see(call.argument(2, "dims"))
    if len(call.args) < 2 or dims == NONE:
        return None
    order = shapes.numbers(m, dims)
    stays = order is not None and _is_view(order, *(_dimensions(m.promote(value)) for value in call.args[:2]))
    return overloads.apply(m, facts.lookup(call.name), call.args[:2], {"dims": NONE if stays else Unknown()}, call.site)


def _dimensions(value: Value) -> int | None:
    if not isinstance(value, Tensor):
        return None
    return len(value.shape) if value.shape is not None else value.dims


def _is_view(dims: Sequence[int], whole: int | None, rows: int | None) -> bool:
    """Whether a tensor of so many dimensions is a matrix as it is, with so many of them in its rows.

    The rows, and the columns, must be dimensions that follow each other.
    """
    if list(dims) == list(range(-len(dims), 0)):
        return True  # they are the last ones already
    if whole is None or rows is None:
        return False
    moved = [dim % whole for dim in dims]
    order = [dim for dim in range(whole) if dim not in moved] + moved
    return all(part == list(range(part[0], part[0] + len(part))) for part in (order[:rows], order[rows:]) if part)
