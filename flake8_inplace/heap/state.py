"""The state of the program at one point: tables of what changed, and a journal for rollback.

All mutable state of the analysis is in a `Table`, and a table knows how to join its entries where paths meet. Rollback,
merge and a fresh start for each entry point are the same for all tables.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from .join import ASSUMPTIONS, Options, choose, join_state
from .values import ALWAYS, NONE, Choice, Guard, List, Unknown, Value

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
S_co = TypeVar("S_co", covariant=True)

_MISSING: Final = object()


class Table(dict[K, V], Generic[K, V]):
    """A dictionary whose changes the journal can undo.

    ``join`` makes one entry of the entries that several paths have for a key. ``absent`` gives the entry of a path that
    has none; without it, such a path takes no part in the join.
    """

    __slots__ = ("absent", "join")

    def __init__(
        self,
        join: Callable[[Options[V]], V],
        items: Mapping[K, V] | None = None,
        absent: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(items or {})
        self.join = join
        self.absent = absent


class Declared(Generic[K, V]):
    """The declaration of a table that every state has, with the join of its entries.

    Write it at the top of a module. `State.__getitem__` returns the table.
    """

    def __init__(self, join: Callable[[Options[V]], V]) -> None:
        self.join = join
        self.index = len(DECLARATIONS)
        DECLARATIONS.append(self)


DECLARATIONS: Final[list[Declared[Any, Any]]] = []
"""All declarations, in the order of their indices."""


class Mutable(Protocol[S_co]):
    """An object with mutable state, which is in the store. ``initial`` is its state until something changes it."""

    @property
    def initial(self) -> S_co: ...


Delta = dict[tuple[int, Hashable], tuple[Table[Any, Any], Hashable, Any]]


@dataclass(slots=True)
class Exit:
    """One way out of a block: the guard of the path, the changes made on it, and the returned value, if any."""

    guard: Guard
    delta: Delta
    value: Value = NONE


def _join_modes(options: Options[Any]) -> Any:
    """Join a mode: it is on if it may be on.

    Saved-tensor hooks that copy on any path count as copying: what they pack cannot become stale.
    """
    values = [value for _, value in options]
    if any(isinstance(value, str) for value in values):
        return "share" if set(values) == {"share"} else "copy"
    return any(values)


def _mode_at_first(name: str) -> bool | None:
    return True if name == "grad" else None


def _initial(thing: object) -> object:
    """Return the state of an object on a path that has not changed it; none if it was made on another path."""
    if type(thing) is List and thing.noted:
        return _MISSING
    return getattr(thing, "initial", _MISSING)


def variables(items: Mapping[str, Value] | None = None) -> Table[str, Value]:
    """Return a table for the variables of a frame, or the members of a class."""
    return Table(choose, items)


Moments = int | tuple[tuple[Guard, int], ...]
"""When something happened last: a time, or several with the guards of their paths."""
PATHS = 8
"""The most paths whose times are told apart."""


def moments() -> Table[str, Moments]:
    """Return a table for times at which something happened last, by name, on each path."""
    return Table(_of_each_path)


def _of_each_path(options: Options[Moments]) -> Moments:
    """Join times: one for each path, or the latest if there are too many."""
    flat: list[tuple[Guard, int]] = []
    for guard, moment in options:
        flat += [(guard | inner, time) for inner, time in spread(moment)]
    times = {time for _, time in flat}
    return tuple(flat) if len(times) > 1 and len(flat) <= PATHS else max(times)


def spread(moment: Moments) -> tuple[tuple[Guard, int], ...]:
    """Return the times of all paths with their guards."""
    return ((ALWAYS, moment),) if isinstance(moment, int) else moment


def latest(options: Options[int]) -> int:
    """Join times: the latest one, or 0, which stands for never, if any is 0; negative, which marks it, if any is."""
    found = [moment for _, moment in options]
    last = max(map(abs, found)) if all(found) else 0
    return -last if min(found) < 0 else last


def union(options: Options[frozenset[V]]) -> frozenset[V]:
    """Join sets: their union."""
    return frozenset[V]().union(*(value for _, value in options))


def each_once(options: Options[tuple[V, ...]]) -> tuple[V, ...]:
    """Join tuples: all their elements, each once."""
    return tuple(dict.fromkeys(element for _, elements in options for element in elements))


def in_order(options: Options[tuple[V, ...]]) -> tuple[V, ...]:
    """Join logs: all their events, each once, in the order of their ``time``."""
    every = dict.fromkeys(event for _, events in options for event in events)
    return tuple(sorted(every, key=lambda event: cast("Any", event).time))


def same_or_none(options: Options[V | None]) -> V | None:
    """Join values that must agree: the common value, or None."""
    first = options[0][1]
    return first if all(value is first or value == first for _, value in options) else None


class State:
    """The state of the program at one point. It is changed in place; a journal allows rollback.

    - ``store``: the present state of objects that have changed.
    - ``path``: the assumptions under which this point is reached.
    - ``modes``: modes by name.

      - "grad": autograd records operators. If absent, it does.
      - "inference": inference mode.
      - "expecting": the program may expect an error here.
      - "packing": what saved-tensor hooks do with a saved tensor, "share", "copy" or "checkpoint".
      - "backward": gradients have been computed.
      - "autocast": the `Autocast` that is on, or True if one may be on.
      - "caching": the time at which `parametrize.cached()` was entered.

    Other modules add tables of their own with `Declared`.
    """

    __slots__ = ("_guard", "_tables", "journal", "modes", "path", "store")

    def __init__(self, store: Mapping[Any, Any] | None = None, path: Mapping[Unknown, bool] | None = None) -> None:
        self.store: Table[Any, Any] = Table(join_state, store, _initial)
        self.path: Table[Unknown, bool] = Table(_no_join, path)
        self.modes: Table[str, Any] = Table(_join_modes, None, _mode_at_first)
        self.journal: list[tuple[Table[Any, Any], Hashable, Any]] = []
        self._tables: list[Table[Any, Any] | None] = [None] * len(DECLARATIONS)  # each is made when it is asked for
        self._guard: Guard | None = None

    def __getitem__(self, declared: Declared[K, V]) -> Table[K, V]:
        """Return the table of this state for a declaration."""
        found = self._tables[declared.index]
        if found is None:
            found = self._tables[declared.index] = Table(declared.join)
        return found

    def tables(self) -> list[Table[Any, Any]]:
        """Return all tables except the variables of frames."""
        return [self.store, self.path, self.modes, *(self[declared] for declared in DECLARATIONS)]

    def copy(self) -> State:
        """Return a copy of this state with an empty journal."""
        other = State(self.store, self.path)
        other.modes.update(self.modes)
        other._tables = [Table(table.join, table) if table else None for table in self._tables]
        return other

    def set(self, where: Table[K, V], key: K, value: V) -> None:
        """Change one entry of a table; ``rollback`` can undo it."""
        old = where.get(key, _MISSING)
        if old is not value:
            self.journal.append((where, key, old))
            where[key] = value
            if where is self.path:
                self._guard = None

    def get(self, thing: Mutable[S_co]) -> S_co:
        """Return the present state of an object."""
        return cast("S_co", self.store.get(thing, thing.initial))

    def put(self, thing: Mutable[S_co], state: S_co) -> None:  # type: ignore[misc]
        """Change the state of an object."""
        self.set(self.store, thing, state)

    def guard(self) -> Guard:
        """Return the assumptions under which the present point is reached."""
        if self._guard is None:
            self._guard = frozenset(self.path.items())
        return self._guard

    def assume(self, guard: Guard) -> None:
        """Continue under these assumptions. Beyond ``ASSUMPTIONS``, new symbols are ignored."""
        for symbol, truth in guard:
            if len(self.path) < ASSUMPTIONS or symbol in self.path:
                self.set(self.path, symbol, truth)

    def possible(self, guard: Guard) -> bool:
        """Return whether the present point can be reached under ``guard``."""
        path = self.path
        for symbol, truth in guard:  # noqa: SIM110 - the hottest loop; a generator doubles its cost
            if path.get(symbol, truth) is not truth:
                return False
        return True

    def mark(self) -> int:
        """Return a mark in the journal for ``rollback``, ``changes`` or ``merge``."""
        return len(self.journal)

    def changes(self, mark: int) -> Delta:
        """Return the entries that changed since ``mark``, with their present values."""
        delta: Delta = {}
        for where, key, _ in self.journal[mark:]:
            delta[id(where), key] = (where, key, where.get(key, _MISSING))
        return delta

    def rollback(self, mark: int) -> None:
        """Undo all changes since ``mark``."""
        undone = self.journal[mark:]
        if not undone:
            return
        del self.journal[mark:]
        undone.reverse()
        for where, key, old in undone:
            if old is _MISSING:
                where.pop(key, None)
            else:
                where[key] = old
        self._guard = None

    def merge(self, mark: int, exits: list[Exit]) -> None:
        """Roll back to ``mark``, then apply the join of the given exits."""
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
            if base is _MISSING and where.absent is not None:
                base = where.absent(name)
            options = []
            for way in exits:
                value = way.delta[key][2] if key in way.delta else base
                if value is not _MISSING:
                    options.append((way.guard, value))
            if options:
                first = options[0][1]
                alike = all(value is first for _, value in options)
                self.set(where, name, first if alike else where.join(options))


def _no_join(options: Options[bool]) -> bool:
    """Refuse to join assumptions: `State.merge` drops those that the paths don't share."""
    raise AssertionError(options)


def resolve(value: Value, state: State) -> Value:
    """Return a value without the options that the present path excludes."""
    if not isinstance(value, Choice):
        return value
    path, options = state.path, []
    for item in value.options:
        for symbol, truth in item[0]:  # `State.possible`, inlined: its most frequent use
            if path.get(symbol, truth) is not truth:
                break
        else:
            options.append(item)
    if len(options) == 1 and (len(value.options) > 1 or options[0][0] <= state.guard()):
        return options[0][1]
    if len(options) == len(value.options) or not options:
        return value
    return Choice(tuple(options))
