"""The state of the program at one point, with a journal to go back by."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Final

from .join import ASSUMPTIONS, join
from .values import NONE, Choice, Guard, Unknown, Value

_MISSING: Final = object()
Delta = dict[tuple[int, Hashable], tuple[dict[Any, Any], Hashable, Any]]


@dataclass(slots=True)
class Exit:
    """The state at one way out of a block: where control went, the value it carried, and what it had changed."""

    guard: Guard
    delta: Delta
    value: Value = NONE


@dataclass(slots=True)
class State:
    """The state of the program at one point, changed in place, with a journal to go back by.

    ``store`` holds what changed about objects, ``path`` the assumptions under which this point is reached.
    """

    store: dict[Any, Any] = field(default_factory=dict)
    path: dict[Unknown, bool] = field(default_factory=dict)
    modes: dict[str, Any] = field(default_factory=dict)
    journal: list[tuple[dict[Any, Any], Hashable, Any]] = field(default_factory=list)
    _guard: Guard | None = None

    def set(self, where: dict[Any, Any], key: Hashable, value: Any) -> None:
        """Change one entry of one dictionary of the state, so that ``rollback`` can undo it."""
        old = where.get(key, _MISSING)
        if old is not value:
            self.journal.append((where, key, old))
            where[key] = value
            if where is self.path:
                self._guard = None

    def get(self, thing: Any) -> Any:
        return self.store.get(thing, thing.initial)

    def put(self, thing: Any, state: Any) -> None:
        self.set(self.store, thing, state)

    def guard(self) -> Guard:
        """The assumptions under which the present point is reached."""
        if self._guard is None:
            self._guard = frozenset(self.path.items())
        return self._guard

    def assume(self, guard: Guard) -> None:
        for symbol, truth in guard:
            if len(self.path) < ASSUMPTIONS or symbol in self.path:
                self.set(self.path, symbol, truth)

    def possible(self, guard: Guard) -> bool:
        """Whether the present point can be reached under ``guard``."""
        path = self.path
        for symbol, truth in guard:  # noqa: SIM110 - asked most of all, and a generator costs as much as the look-up
            if path.get(symbol, truth) is not truth:
                return False
        return True

    def mark(self) -> int:
        return len(self.journal)

    def changes(self, mark: int) -> Delta:
        """What changed since ``mark``, with the present values."""
        delta: Delta = {}
        for where, key, _ in self.journal[mark:]:
            delta[id(where), key] = (where, key, where.get(key, _MISSING))
        return delta

    def rollback(self, mark: int) -> None:
        undone = self.journal[mark:]
        if not undone:
            return
        del self.journal[mark:]
        for where, key, old in reversed(undone):
            if old is _MISSING:
                where.pop(key, None)
            else:
                where[key] = old
        self._guard = None

    def merge(self, mark: int, exits: list[Exit]) -> None:
        """Go back to ``mark`` and continue from all the given exits at once."""
        self.rollback(mark)
        if len(exits) == 1:
            for where, key, new in exits[0].delta.values():
                if new is not _MISSING:
                    self.set(where, key, new)
            return
        changed: Delta = {}
        for way in exits:
            changed |= way.delta
        for key, (where, name, new) in changed.items():
            if where is self.path:
                if all(key in way.delta and way.delta[key][2] is new for way in exits) and new is not _MISSING:
                    self.set(where, name, new)
                continue
            base = where.get(name, _MISSING)
            unchanged = (where, name, getattr(name, "initial", _MISSING) if base is _MISSING else base)
            options = []
            for way in exits:
                value = way.delta.get(key, unchanged)[2]
                if value is not _MISSING:
                    options.append((way.guard, value))
            if options:
                self.set(where, name, join(options))


def resolve(value: Value, state: State) -> Value:
    """Drop the options that the present path excludes."""
    if not isinstance(value, Choice):
        return value
    path, options = state.path, []
    for item in value.options:
        for symbol, truth in item[0]:  # as State.possible, of which this is the most frequent use
            if path.get(symbol, truth) is not truth:
                break
        else:
            options.append(item)
    if len(options) == 1 and (len(value.options) > 1 or options[0][0] <= state.guard()):
        return options[0][1]
    if len(options) == len(value.options) or not options:
        return value
    return Choice(tuple(options))
