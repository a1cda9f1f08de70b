"""What is known of the dimensions of a part of a tensor, and whether it is expanded memory."""

from __future__ import annotations

from ..heap.regions import takes_one
from ..heap.values import NONE, Const, Dimension, Slice, Tensor, Tuple, Unknown, Value, View, is_number
from ..trace.trace import Trace


def take(m: Trace, part: Tensor, tensor: Tensor, index: Value) -> None:
    """Note what is known of ``part``, which is ``tensor[index]``.

    Whether a part of expanded memory still overlaps itself depends on the dimension.
    """
    part.lead, part.tail = lead_of_part(m, tensor, index), tail_of_part(m, tensor, index)
    if part.view is View.EXPANDED and Dimension.EXPANDED not in (part.lead, part.tail):
        part.view = View.ORDINARY


def lead_of_part(m: Trace, tensor: Tensor, index: Value) -> Dimension:
    """What is known of the first dimension of a part of a tensor, or that it is one of several rows in one memory."""
    first = m.see(index.items[0]) if isinstance(index, Tuple) and index.items else index
    if first == NONE:
        return Dimension.SIZE_ONE
    if isinstance(first, Slice) and first.lower == first.upper == NONE:
        return tensor.lead
    if isinstance(first, Slice) and tensor.lead is Dimension.EXPANDED:
        return Dimension.ROW if takes_one(first) else Dimension.EXPANDED
    number = first.dims == 0 if isinstance(first, Tensor) else is_number(first)
    row = tensor.lead is Dimension.ROW or (tensor.lead is Dimension.EXPANDED and number)
    return Dimension.ROW if row else Dimension.UNKNOWN


def tail_of_part(m: Trace, tensor: Tensor, index: Value) -> Dimension:
    """What is known of the last dimension of a part of a tensor."""
    last = m.see(index.items[-1]) if isinstance(index, Tuple) and index.items else index
    if isinstance(index, Tuple) and last != Const(...):
        return Dimension.SIZE_ONE if last == NONE else Dimension.UNKNOWN
    keeps = last in (NONE, Const(...)) or isinstance(last, Slice) or is_number(last)
    return tensor.tail if keeps else Dimension.UNKNOWN


_SIZES = frozenset({"size", "dim", "numel", "nelement", "shape", "ndim"})
"""The methods and attributes that say how large a tensor is."""


def is_shared_row(m: Trace, tensor: Tensor) -> bool:
    """Whether several elements of a list or rows of a tensor are this one tensor, for all that the path says.

    A test of its size tells what stands in for a missing element, as in ``[missing] * n``, from the others.
    """
    if tensor.lead is not Dimension.ROW:
        return False
    sizes: set[object] = set()
    for key, symbol in m.symbols.items():  # what is computed from a symbol comes after it
        own = isinstance(key, tuple) and len(key) > 1 and key[0] is tensor and key[1] in _SIZES
        if own or _mentions(key, sizes):
            sizes.add(symbol)
    return not any(symbol in sizes for symbol in m.state.path)


def _mentions(key: object, symbols: set[object]) -> bool:
    """Whether what a symbol was computed from has one of these, in tests of several values too."""
    if isinstance(key, (tuple, frozenset)):
        return any(_mentions(part, symbols) for part in key)
    return isinstance(key, Unknown) and key in symbols
