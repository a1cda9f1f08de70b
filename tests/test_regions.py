"""Laws of regions: what is said of two indices holds for every size of the dimension, and little is left unsaid.

All pairs of numbers and slices with bounds from -3 to 3 are compared with what Python's own indices select.
"""

from collections.abc import Callable, Iterator
from itertools import product

import pytest

from flake8_inplace.heap.regions import Relation, plain, relation, share, takes_all, takes_one
from flake8_inplace.heap.values import NONE, Const, Slice, Unknown, Value

SIZES = range(1, 9)
BOUNDS = (None, *range(-3, 4))
Index = int | slice


def value(index: Index) -> Value:
    """The abstract value of an index."""
    if isinstance(index, int):
        return Const(index)
    return Slice(*(NONE if bound is None else Const(bound) for bound in (index.start, index.stop, index.step)))


def selected(index: Index, size: int) -> tuple[int, ...] | None:
    """The elements that an index selects, in order; None if PyTorch raises an error."""
    if isinstance(index, slice):
        return tuple(range(size)[index])
    return (range(size)[index],) if -size <= index < size else None


INDICES: list[Index] = [*range(-3, 4), *(slice(*bounds) for bounds in product(BOUNDS, BOUNDS, (None, 2)))]
SELECTED = [[selected(index, size) for size in SIZES] for index in INDICES]
VALUES = [value(index) for index in INDICES]
Both = list[tuple[tuple[int, ...], tuple[int, ...]]]


def pairs() -> Iterator[tuple[int, int, Both]]:
    """Each pair of indices, with what both select of each size that neither selects nothing of."""
    for one, other in product(range(len(INDICES)), repeat=2):
        both = [(a, b) for a, b in zip(SELECTED[one], SELECTED[other], strict=True) if a and b]
        if both:
            yield one, other, both


PAIRS = list(pairs())


def is_shifted(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether elements are those of the other region, at higher indices or, of few elements, at the same ones.

    PyTorch assigns only what has as many elements.
    """
    steps = {a - b for a, b in zip(one, other, strict=False)}
    return len(one) != len(other) or (len(steps) == 1 and min(steps) >= 0)


MEANS: dict[Relation, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    Relation.SAME: lambda one, other: one == other,
    Relation.DISJOINT: lambda one, other: not set(one) & set(other),
    Relation.SHIFTED_UP: is_shifted,
    Relation.SHIFTED_DOWN: lambda one, other: is_shifted(other, one),
    Relation.UNKNOWN: lambda one, other: True,
}


def test_relations_hold() -> None:
    for one, other, both in PAIRS:
        found = relation((VALUES[one],), (VALUES[other],), {})[0]
        assert all(MEANS[found](a, b) for a, b in both), (found, INDICES[one], INDICES[other])


def test_shared_elements_are_there() -> None:
    for one, other, both in PAIRS:
        if share((VALUES[one],), (VALUES[other],)):
            assert all(set(a) & set(b) for a, b in both), (INDICES[one], INDICES[other])


def test_sizes_of_one_index() -> None:
    for index, abstract, each in zip(INDICES, VALUES, SELECTED, strict=True):
        found = [elements for elements in each if elements]
        if takes_one(abstract):
            assert all(len(elements) == 1 for elements in found), index
        if takes_all(abstract):
            assert all(len(elements) == size for elements, size in zip(found, SIZES, strict=True)), index
        short = plain((abstract,))
        assert not short or short == (abstract,) or isinstance(short[0], Slice), index


# What has to be known


class Indices:
    """`at[1:, 0]` is the tuple of the abstract values of that index; `K` in it is a symbol."""

    def __getitem__(self, index: object) -> tuple[Value, ...]:
        return tuple(map(self.value, index if isinstance(index, tuple) else (index,)))

    def value(self, index: object) -> Value:
        if isinstance(index, slice):
            return Slice(
                *(NONE if each is None else self.value(each) for each in (index.start, index.stop, index.step))
            )
        return index if isinstance(index, Unknown) else Const(index)


at = Indices()
K, POSITIVE, MINUS_K = Unknown(scalar=True), Unknown(scalar=True, positive=True), Unknown(scalar=True)
SYMBOLS = {("neg", K): MINUS_K}

DISJOINT = [
    *((at[0], at[1]), (at[-1], at[-2]), (at[0], at[POSITIVE])),
    *(
        (at[:2], at[2:]),
        (at[1:2], at[3:]),
        (at[:-1], at[-1:]),
        (at[:-3], at[-2:]),
        (at[:K], at[K:]),
        (at[:K, 1], at[K:]),
    ),
    *((at[::2], at[1::2]), (at[1::3], at[2::3]), (at[:, 0], at[:, 1]), (at[0, :2], at[1, 1:])),
    *((at[0], at[1:]), (at[2], at[:2]), (at[0], at[:0]), (at[5], at[1:3]), (at[-3], at[-2:]), (at[-1], at[:-1])),
]
OVERLAPPING = [
    *((at[1:], at[:-1]), (at[2:], at[0:-2]), (at[1:4], at[0:3]), (at[K:], at[:MINUS_K])),
    *((at[1:], at[0:3]), (at[2:, 0], at[:-2, 0])),
]
"""The first is the second one, shifted to higher indices."""
SHARED = [
    *((at[1], at[0:2]), (at[0], at[:2]), (at[0], at[:K]), (at[0], at[:-1]), (at[2], at[1:]), (at[1], at[1:])),
    *((at[-1], at[-2:]), (at[-1], at[K:]), (at[-2], at[-2:]), (at[:2], at[:3]), (at[:2], at[0:K]), (at[1:], at[2:])),
    *((at[-3:], at[:-1]), (at[0], at[0, 1]), (at[:, 1], at[2]), (at[K], at[K])),
]
UNKNOWN = [
    *((at[0], at[K]), (at[0], at[-1]), (at[1], at[:K]), (at[-1], at[:K]), (at[:K], at[2:])),
    *((at[-1::2], at[::2]), (at[-2::2], at[-1::3]), (at[K], at[1:])),
]
"""What has common elements in some tensors, and none in others."""


@pytest.mark.parametrize(("one", "other"), DISJOINT)
def test_disjoint(one: tuple[Value, ...], other: tuple[Value, ...]) -> None:
    assert relation(one, other, SYMBOLS)[0] is relation(other, one, SYMBOLS)[0] is Relation.DISJOINT
    assert not share(one, other)


@pytest.mark.parametrize(("one", "other"), OVERLAPPING)
def test_shifted(one: tuple[Value, ...], other: tuple[Value, ...]) -> None:
    assert relation(one, other, SYMBOLS)[0] is Relation.SHIFTED_UP
    assert relation(other, one, SYMBOLS)[0] is Relation.SHIFTED_DOWN


@pytest.mark.parametrize(("one", "other"), SHARED)
def test_shared(one: tuple[Value, ...], other: tuple[Value, ...]) -> None:
    assert share(one, other)
    assert share(other, one)
    assert relation(one, other, SYMBOLS)[0] is not Relation.DISJOINT


@pytest.mark.parametrize(("one", "other"), UNKNOWN)
def test_unknown(one: tuple[Value, ...], other: tuple[Value, ...]) -> None:
    assert relation(one, other, SYMBOLS)[0] is relation(other, one, SYMBOLS)[0] is Relation.UNKNOWN
    assert not share(one, other)
