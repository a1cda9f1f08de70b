"""Numbers that are known from others: ``n - 1``, ``len(x[1:])``, the counter in the last iteration of a loop."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from ..heap.values import NONE, Const, Guard, List, Slice, Unknown, Value, constant

Term = tuple[Unknown | None, int]
"""A number: a symbol and what is added to it, or ``(None, 3)`` for 3."""
_HOLDS: Final = {
    "eq": operator.eq,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


@dataclass(slots=True, eq=False)
class Numbers:
    """What a file's numbers have to do with each other. It holds on every path, so it is no table of the state."""

    sums: dict[Unknown, Term] = field(default_factory=dict)
    # The sequence that a slice was taken from, and how much longer the slice is: ``x[1:]`` has (x, -1).
    slices: dict[Unknown | List, tuple[Unknown | List, int]] = field(default_factory=dict)
    # The values of a counter in the last iteration, one of them: those of ``enumerate(zip(a, b))`` end with a or b.
    last: dict[Unknown, dict[Unknown | None, int]] = field(default_factory=dict)
    # Which tests of a counter hold in the last iteration.
    tests: dict[Unknown, dict[Unknown, bool]] = field(default_factory=dict)

    def term(self, value: Value) -> Term | None:
        """Return a number as a symbol and what is added to it; None for what is no number."""
        if isinstance(value, Unknown):
            return self.sums.get(value, (value, 0))
        return (None, value.value) if isinstance(value, Const) and type(value.value) is int else None

    def add(self, result: Value, left: Value, right: Value, sign: int) -> None:
        """Note that a symbol is a sum or a difference, if one side is a known number."""
        one, other = self.term(left), self.term(right)
        if isinstance(result, Unknown) and one is not None and other is not None:
            if other[0] is None:
                self.sums[result] = (one[0], one[1] + sign * other[1])
            elif one[0] is None and sign > 0:
                self.sums[result] = (other[0], one[1] + other[1])

    def slice(self, part: Unknown | List, whole: Unknown | List, index: Slice) -> None:
        """Note how long a slice is: ``x[1:]`` and ``x[:-1]`` are one shorter than ``x``."""
        first, end, step = index.lower, index.upper, index.step
        skipped = constant(first) if first != NONE else 0
        left = constant(end) if end != NONE else 0
        if type(skipped) is int and type(left) is int and skipped >= 0 >= left and step == NONE:
            self.slices[part] = (whole, left - skipped)

    def count(self, counter: Unknown, lengths: Iterable[Value]) -> None:
        """Note that a counter runs from zero up to the shortest of these lengths."""
        ends = self.last.setdefault(counter, {})
        for base, number in filter(None, map(self.term, lengths)):
            ends[base] = min(ends.get(base, number - 1), number - 1)

    def another(self, counter: Unknown) -> Unknown:
        """Return a counter like this one, in a later iteration."""
        later = Unknown(scalar=True, positive=counter.positive)
        self.last[later] = self.last[counter]
        return later

    def compare(self, name: str, left: Value, right: Value, test: Unknown) -> None:
        """Note the truth of a comparison in the last iteration, if it compares a counter with where it ends."""
        if not self.last or name not in _HOLDS:
            return
        one, other = self.term(left), self.term(right)
        if one is None or other is None:
            return
        for counter, end in ((one, other), (other, one)):
            last = self.last.get(counter[0], {}).get(end[0]) if counter[0] is not None else None
            if counter[0] is not None and last is not None:
                sides = (last + counter[1], end[1])
                self.tests.setdefault(counter[0], {})[test] = _HOLDS[name](*(sides if counter is one else sides[::-1]))

    def at_end(self, counters: Iterable[Unknown]) -> Guard:
        """Return what holds in the last iteration."""
        return frozenset(item for counter in counters for item in self.tests.get(counter, {}).items())
