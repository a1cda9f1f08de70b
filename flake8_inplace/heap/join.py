"""The join: one value for the values that several paths have, each under the guard of its path."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeVar

from .autograd import compatible, otherwise, perhaps, phi
from .values import ALWAYS, Attributes, CellState, Choice, Const, Grad, Guard, Items, Ref, Saved, Unknown, Value

V = TypeVar("V")
Options = list[tuple[Guard, V]]
"""The values of several paths, each with the guard of its path."""

ASSUMPTIONS = 64
"""The most assumptions in one guard. Further ones are dropped, so that a function with a thousand branches ends."""
CHOICES = 6
"""The most options of a `Choice`. Further ones are dropped."""
GUARDS = 24
"""The most paths on which a tensor is known to require no grad, or not for sure. Further ones are dropped."""


def join_state(options: Options[Any]) -> Any:
    """Join the states of one object, or the values that an unknown value has on several paths."""
    first = options[0][1]
    if _same(options):
        return first
    if isinstance(first, CellState):
        return _join_cells(options)
    if isinstance(first, frozenset):
        return frozenset().union(*[_on_path(value, guard) for guard, value in options])
    if isinstance(first, Items):
        return _join_items(options)
    if isinstance(first, Attributes):
        return _join_attributes(options)
    return choose(options)


def _on_path(saves: frozenset[Saved], guard: Guard) -> list[Saved]:
    """Return the saves that a path may have made. Those of another path, which it couldn't free, are not its own."""
    return [saved for saved in saves if compatible(saved.guard, guard)]


def _join_cells(options: Options[CellState]) -> CellState:
    states = [value for _, value in options]
    grad, nodes, leaf = max(s.grad for s in states), [s.node for s in states], all(s.leaf for s in states)
    without = _at_most(options, Grad.NO) if grad else ()
    unsure = _at_most(options, Grad.MAYBE) if grad is Grad.YES else ()
    node = phi(nodes) if None not in nodes else perhaps(nodes, _otherwise(options, without))
    return CellState(grad, node, leaf, without, unsure)


def _otherwise(options: Options[CellState], without: tuple[Guard, ...]) -> Guard:
    """Return what holds where a tensor has a history: it has none on the paths ``without`` a gradient."""
    here = frozenset.intersection(*(guard for guard, _ in options))
    return ALWAYS.union(*(otherwise(guard, here) for guard in without))


def _at_most(options: Options[CellState], most: Grad) -> tuple[Guard, ...]:
    """Return the guards under which a tensor requires no grad, or at most may require it."""
    without = most is Grad.NO
    known = [(guard, s, s.without if without else (*s.unsure, *s.without)) for guard, s in options]
    every = dict.fromkeys(inner for _, _, guards in known for inner in guards)
    stays = [inner for inner in every if all(_holds(guard, s, guards, inner, most) for guard, s, guards in known)]
    new = [
        guard | inner
        for guard, s, guards in known
        for inner in (guards if s.grad > most else (ALWAYS,) * (s.grad is most))
        if inner not in stays and compatible(guard, inner) and len(guard | inner) <= ASSUMPTIONS
    ]
    return tuple([*stays, *new][:GUARDS])


def _holds(path: Guard, state: CellState, guards: tuple[Guard, ...], guard: Guard, most: Grad) -> bool:
    """Whether a tensor that is in this state at the end of a path requires grad at most so under ``guard``."""
    return state.grad <= most or not compatible(path, guard) or any(known <= guard for known in guards)


def _same(options: Options[V]) -> bool:
    first = options[0][1]
    for _, value in options:  # noqa: SIM110 - a generator costs more than the comparison
        if value is not first and not (type(value) is Ref and value == first):
            return False
    return True


def _join_items(options: Options[Items]) -> Items:
    longest = max(len(state.items) for _, state in options)
    items = []
    for index in range(longest):
        there = [(guard, s.items[index]) for guard, s in options if index < len(s.items)]
        items.append(choose(there, partial=len(there) < len(options)))
    same = all(len(s.items) == longest and not s.open for _, s in options)
    return Items(tuple(items), not same, _join_picked(options))


def _join_picked(options: Options[Items]) -> dict[Hashable, int]:
    """Join the positions of unknown indices: two indices are two elements still, each picked on a path of its own."""
    picked: dict[Hashable, int] = {}
    for _, state in options:
        for index, where in state.picked.items():
            if where not in picked.values():
                picked.setdefault(index, where)
    return picked


def _join_attributes(options: Options[Attributes]) -> Attributes:
    items: dict[Hashable, Value] = {}
    for name in dict.fromkeys(name for _, s in options for name in s.items):
        items[name] = choose([(guard, s.items[name]) for guard, s in options if name in s.items])
    return Attributes(items, any(s.open for _, s in options))


def choose(options: Options[Value], partial: bool = False) -> Value:
    """Return a value that is one of several. ``partial``: on other paths there is no value."""
    if options and not partial and _same(options):
        return options[0][1]
    flat: list[tuple[Guard, Value]] = []
    for guard, value in options:
        if type(value) is not Choice:
            _add_option(flat, guard, value)
            continue
        partial = partial or len(value.options) == 1
        for inner, option in value.options:
            if compatible(guard, inner):
                both = guard | inner
                _add_option(flat, both if len(both) <= ASSUMPTIONS else guard, option)
    if not flat:
        return Unknown()
    if not partial and _same(flat):
        return flat[0][1]
    return Choice(tuple(flat[:CHOICES]))


def _add_option(flat: list[tuple[Guard, Value]], guard: Guard, value: Value) -> None:
    """Add an option. If the value is there under a guard that differs in the truth of one symbol, drop that symbol."""
    for index, (other, known) in enumerate(flat):
        if known is value or _same_constant(known, value):
            if other <= guard:
                return
            difference = other ^ guard
            if guard < other or (len(difference) == 2 and len({symbol for symbol, _ in difference}) == 1):
                del flat[index]
                _add_option(flat, other & guard, value)
                return
    flat.append((guard, value))


def _same_constant(left: Value, right: Value) -> bool:
    """Whether two values are one constant, or one imported thing: ``1`` and ``True`` are equal, and are two."""
    if type(left) is Ref:
        return left == right
    if not isinstance(left, Const) or not isinstance(right, Const):
        return False
    return left == right and type(left.value) is type(right.value)
