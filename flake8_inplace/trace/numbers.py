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
    # Which of them hold in all iterations before it.
    earlier: dict[Unknown, dict[Unknown, bool]] = field(default_factory=dict)
    # Comparisons of a constant with a symbol: which, by the test, and the terms of both sides.
    constants: dict[Unknown, dict[Unknown, tuple[str, Term, Term]]] = field(default_factory=dict)

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
        """Note the truth of a comparison in the last iteration, if it compares a counter with where it ends.

        If it is another one in the iteration before, it is so in all earlier ones.
        """
        if not self.last or name not in _HOLDS:
            return
        one, other = self.term(left), self.term(right)
        if one is None or other is None:
            return
        for counter, end in ((one, other), (other, one)):
            if counter[0] is None:
                if end[0] is not None:
                    self.constants.setdefault(end[0], {})[test] = (name, one, other)
                continue
            last = self.last.get(counter[0], {}).get(end[0])
            if last is not None:
                sides = (last + counter[1], end[1])
                truth = _HOLDS[name](*(sides if counter is one else sides[::-1]))
                self.tests.setdefault(counter[0], {})[test] = truth
                before = (sides[0] - 1, sides[1])
                changes = _HOLDS[name](*(before if counter is one else before[::-1])) is not truth
                if changes and (truth or name != "eq"):  # an earlier one may equal what the last one doesn't
                    self.earlier.setdefault(counter[0], {})[test] = not truth

    def at_end(self, counters: Iterable[Unknown]) -> Guard:
        """Return what holds in the last iteration."""
        return frozenset(item for counter in counters for item in self.tests.get(counter, {}).items())

    def before_end(self, counters: Iterable[Unknown]) -> Guard:
        """Return what holds in an iteration that another one follows."""
        return frozenset(item for counter in counters for item in self.earlier.get(counter, {}).items())

    def at_second(self, counters: Iterable[Unknown]) -> Guard:
        """Return what holds of constants if a loop comes to its second iteration: it has two or more."""
        found: dict[Unknown, bool] = {}
        for counter in counters:
            for base, end in self.last.get(counter, {}).items():
                for test, (name, one, other) in self.constants.get(base, {}).items() if base is not None else ():
                    truth = _from(name, one, other, 1 - end)
                    if truth is not None:
                        found[test] = truth
        return frozenset(found.items())


def _from(name: str, one: Term, other: Term, least: int) -> bool | None:
    """Return the truth of a comparison of a constant with a symbol that is ``least`` or more; None if it depends."""
    first = one[0] is None
    number, low = (one[1], least + other[1]) if first else (other[1], least + one[1])
    if name == "eq":
        return False if number < low else None
    truths = {_HOLDS[name](*((number, value) if first else (value, number))) for value in (low, max(number, low) + 1)}
    return truths.pop() if len(truths) == 1 else None
