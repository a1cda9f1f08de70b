"""Which elements of a tensor a view selects, and how two such regions relate."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from enum import Enum, auto

from .values import NONE, UNCERTAIN, Const, Origin, Slice, Tensor, Tuple, Unknown, Value, View

Symbols = Mapping[Hashable, Unknown]
"""The symbols of pure computations, by operation and operands: see `Trace.symbol`. They show negatives and inverses."""
DEPTH = 4
"""How many operators `origins` follows back."""


class Relation(Enum):
    """How one region relates to another region of the same tensor."""

    SAME = auto()
    DISJOINT = auto()
    SHIFTED_UP = auto()  # the first is the second, shifted to higher indices of one dimension, and they overlap
    SHIFTED_DOWN = auto()
    UNKNOWN = auto()


def items_of(index: Value) -> tuple[Value, ...]:
    """Return the indices of ``x[index]``, one for each dimension."""
    return index.items if isinstance(index, Tuple) else (index,)


def plain(index: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the shortest index for the same elements: ``x[0:2, :]`` is ``x[:2]``."""
    found = [Slice(NONE, i.upper, NONE) if isinstance(i, Slice) and (i.lower, i.step) == _START else i for i in index]
    while found and takes_all(found[-1]):
        del found[-1]
    return tuple(found)


_START = (Const(0), NONE)


def whole_of(tensor: Tensor) -> Tensor:
    """The tensor that a view takes every element of, in the same order and shape: ``x`` of ``x[:]``."""
    region = tensor.region
    while region is not None and not region.reshaped and not plain(region.index):
        if tensor.contiguous != region.base.contiguous:
            break
        tensor, region = region.base, region.base.region
    return tensor


def unshaped(tensor: Tensor) -> Tensor:
    """The tensor that a view takes every element of: ``x`` of ``x.view(-1)``."""
    while tensor.region is not None and tensor.region.reshaped:
        tensor = tensor.region.base
    return tensor


def base_of(tensor: Tensor) -> Tensor:
    """The tensor with memory of its own that a view was taken of, as far as that is known."""
    while tensor.region is not None:
        tensor = tensor.region.base
    return tensor


def takes_whole(tensor: Tensor) -> bool:
    """Whether no part of something is known to be all that a view takes: of ``x``, ``x[:]``, ``x.view(-1)``."""
    region = tensor.region
    while region is not None and not plain(region.index):
        region = region.base.region
    return region is None


def is_base(tensor: Tensor) -> bool:
    """Whether a tensor is a base, or a view of every element of one: ``x.view(-1)``."""
    while tensor.region is not None and (tensor.region.reshaped or not plain(tensor.region.index)):
        tensor = tensor.region.base
    return tensor.view is View.NONE


def same_tensor(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors surely have the same elements in the same order: ``x[i]`` and ``x[i]``."""
    one, other = whole_of(one), whole_of(other)
    if one is other:
        return True
    if one.storage is not other.storage or one.contiguous != other.contiguous:
        return False
    if one.region is None or other.region is None:
        return all(tensor.view is View.NONE and tensor.origin not in UNCERTAIN for tensor in (one, other))
    if one.region.reshaped or other.region.reshaped:
        return False
    return same_tensor(one.region.base, other.region.base) and plain(one.region.index) == plain(other.region.index)


def is_dense(tensor: Tensor) -> bool | None:
    """Whether a tensor fills one stretch of memory, as a row and some rows of a contiguous one do. None if unknown."""
    region = tensor.region
    if region is None:
        return tensor.contiguous if tensor.view is View.NONE else None
    if region.reshaped:
        return None
    index, base = plain(region.index), is_dense(region.base)
    if base and tensor.contiguous:
        return all(_number(item) is not None for item in index[:-1]) and (not index or not _has_step(index[-1]))
    return None if base is None else False


def takes_stretch(index: tuple[Value, ...]) -> bool:
    """Whether an index takes one stretch of contiguous memory: ``x[i]``, ``x[2:]``, and not ``x[:2, :2]``."""
    index = plain(index)
    last = index[-1] if index else None
    return not any(isinstance(item, Slice) for item in index[:-1]) and not (isinstance(last, Slice) and _has_step(last))


def _has_step(index: Value) -> bool:
    return index.step != NONE if isinstance(index, Slice) else _number(index) is None


def relation(one: tuple[Value, ...], other: tuple[Value, ...], symbols: Symbols) -> tuple[Relation, int]:
    """Return how ``x[one]`` relates to ``x[other]``, and the dimension in which they differ.

    An ellipsis counts as one dimension. Regions may therefore be called disjoint by mistake, but never the same.
    """
    one, other = plain(one), plain(other)
    different = [place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]]
    if not different and len(one) == len(other):
        return Relation.SAME, 0
    for place in different:
        found = _in_one_dimension(one[place], other[place], symbols)
        if found is Relation.DISJOINT or (len(different) == 1 and len(one) == len(other)):
            return found, place
    return Relation.UNKNOWN, 0


def _in_one_dimension(one: Value, other: Value, symbols: Symbols) -> Relation:
    if _disjoint(one, other, symbols) or _disjoint(other, one, symbols):
        return Relation.DISJOINT
    if _moved_up(one, other, symbols):
        return Relation.SHIFTED_UP
    if _moved_up(other, one, symbols):
        return Relation.SHIFTED_DOWN
    return Relation.UNKNOWN


def _disjoint(one: Value, other: Value, symbols: Symbols) -> bool:
    """Return whether indices select different elements: ``0`` and ``1``, ``:k`` and ``k:``, ``mask`` and ``~mask``."""
    if isinstance(one, Const) and isinstance(other, Const) and type(one.value) is type(other.value) is str:
        return bool(one.value != other.value)  # columns of a table
    first, second = _number(one), _number(other)
    if first is not None and second is not None:
        return first != second and (first < 0) is (second < 0)
    if isinstance(one, Slice) and isinstance(other, Slice):
        return _ends_before(one, other) if one.step == other.step == NONE else _interleaved(one, other)
    if first is not None and isinstance(other, Slice) and other.step == NONE:
        return _outside(first, other)
    if first == 0 and isinstance(other, Unknown) and other.positive:
        return True
    return _inverts(one, other, symbols)


def _ends_before(one: Slice, other: Slice) -> bool:
    """Whether a slice ends where another one begins, or before: ``:k`` and ``k:``."""
    end, begin = _number(one.upper), _number(other.lower)
    known = end is not None and begin is not None and (end < 0) is (begin < 0) and end <= begin
    return known or (one.upper != NONE and one.upper == other.lower)


def _interleaved(one: Slice, other: Slice) -> bool:
    """Whether two slices take turns: ``::2`` and ``1::2``."""
    starts, step = (_number(one.lower) or 0, _number(other.lower) or 0), _number(one.step) or 1
    return step == _number(other.step) and min(starts) >= 0 and (starts[0] - starts[1]) % step != 0


def _outside(number: int, other: Slice) -> bool:
    """Whether an index lies before or behind a slice: ``0`` and ``1:``."""
    lower, upper = _number(other.lower), _number(other.upper)
    same_end = [bound for bound in (lower, upper) if bound is not None and (bound < 0) is (number < 0)]
    return (lower in same_end and number < (lower or 0)) or (upper in same_end and number >= (upper or 0))


def _inverts(one: Value, other: Value, symbols: Symbols) -> bool:
    """Return whether one mask was computed as the inverse of the other."""
    if isinstance(one, Tensor):
        made = one.made
        if made is None or not made.values or made.values[0] is not other:
            return False
        return made.op in _INVERTING or (made.op, made.values[1:]) in _COMPARING
    return isinstance(one, Unknown) and one is symbols.get(("invert", other))


_INVERTING = frozenset({"bitwise_not", "logical_not", "__invert__", "invert"})
_COMPARING = (("eq", (Const(False),)), ("ne", (Const(True),)))


def _moved_up(target: Value, source: Value, symbols: Symbols) -> bool:
    """Return whether ``target`` is ``source``, shifted to higher indices: ``n:`` and ``:-n``, ``1:4`` and ``0:3``."""
    if not isinstance(target, Slice) or not isinstance(source, Slice) or not target.step == source.step == NONE:
        return False
    from_start = target.upper == NONE and target.lower != NONE and source.lower in (NONE, Const(0))
    if from_start and _negative(target.lower, symbols) == source.upper != NONE:
        return True
    first, second = _number(target.lower) or 0, _number(source.lower) or 0
    length, width = _length(target), _length(source)
    if target.upper == NONE and width != Const(1):  # torch assigns only what has the same length, or is one element
        length = width
    return length is not None and length == width and first > second >= 0


def _length(index: Slice) -> Value | None:
    """Return the number of elements of a slice, or None if its bounds don't determine it."""
    if isinstance(index.upper, Tuple):  # see `span`
        return index.upper.items[1]
    lower, upper = 0 if index.lower == NONE else _number(index.lower), _number(index.upper)
    return None if lower is None or upper is None or (lower < 0) is not (upper < 0) else Const(upper - lower)


def _negative(value: Value, symbols: Symbols) -> Value:
    number = _number(value)
    return Const(-number) if number is not None else symbols.get(("neg", value), NONE)


def span(start: Value, length: Value) -> Slice:
    """Return the slice that ``narrow(dim, start, length)`` selects.

    If its upper bound is not a known number, it is the pair ``(start, length)``.
    """
    begin, count = _number(start), _number(length)
    known = begin is not None and count is not None and begin >= 0
    return Slice(start, Const((begin or 0) + (count or 0)) if known else Tuple((start, length)), NONE)


def share(one: tuple[Value, ...], other: tuple[Value, ...]) -> bool:
    """Return whether two indices surely take common elements. A dimension that one doesn't index, it takes all of."""
    return all(map(_meet, plain(one), plain(other)))


def _meet(one: Value, other: Value) -> bool:
    """Whether two indices of one dimension surely have a common element."""
    if takes_all(one) or takes_all(other) or one == other:
        return True
    if isinstance(other, Slice) and not isinstance(one, Slice):
        return _meet(other, one)
    if not isinstance(one, Slice) or one.step != NONE:
        return False
    if isinstance(other, Slice):
        begins = {one.lower, other.lower} <= {NONE, Const(0)}
        return other.step == NONE and (begins or one.upper == other.upper == NONE or _ends_meet(one, other))
    return _has(one, other)


def _has(one: Slice, other: Value) -> bool:
    """Whether a slice with steps of one surely has an element: ``:5`` and ``2``, ``-3:`` and ``-1``."""
    number, lower, upper = _number(other), _number(one.lower) or 0, _number(one.upper)
    if number is not None and number < 0 and one.upper == NONE:  # the last one is in `-k:`, whatever `k` is
        return number == -1 or lower <= number
    if number is None or number < 0 or (one.lower != NONE and _number(one.lower) is None) or lower < 0:
        return False
    if upper is None or upper < 0:  # the first one is in `:k` and in `:-1`, as long as these are not empty
        return lower <= number and (one.upper == NONE or number == 0 == lower)
    return lower <= number < upper


def _ends_meet(one: Slice, other: Slice) -> bool:
    """Whether one of two slices begins, counted from the end, before the other one ends: ``-3:`` and ``:-1``."""
    for first, last in ((other, one), (one, other)):
        begin, end = _number(last.lower), _number(first.upper)
        open_ended = first.lower in (NONE, Const(0)) and last.upper == NONE
        if open_ended and begin is not None and end is not None and begin < end < 0:
            return True
    return False


def takes_one(index: Value) -> bool:
    """Return whether an index selects one element: ``0``, ``:1``, ``-1:``, ``3:4``."""
    if not isinstance(index, Slice):
        return _number(index) is not None
    lower, upper = _number(index.lower), _number(index.upper)
    if index.step != NONE:
        return False
    if index.upper == NONE:
        return lower == -1
    return upper is not None and (index.lower == NONE or lower is not None) and upper - (lower or 0) == 1


def takes_all(index: Value) -> bool:
    """Return whether an index selects all elements of its dimensions."""
    return index == Const(...) or index == Slice(NONE, NONE, NONE)


def _number(value: Value) -> int | None:
    return value.value if isinstance(value, Const) and type(value.value) is int else None


def origins(value: Value, depth: int = DEPTH) -> Iterator[tuple[Origin, Value]]:
    """Yield the operators that a tensor was computed by, each once for each of its operands, with that operand.

    Those of a view are those of its base.
    """
    made = base_of(value).made if isinstance(value, Tensor) else None
    for operand in made.values if made is not None and depth else ():
        assert made is not None
        yield made, operand
        yield from origins(operand, depth - 1)
