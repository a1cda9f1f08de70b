"""The abstract values of the analysis, the state they live in, and how states are joined.

Nothing here knows Python's syntax or torch's operators. Objects (tensors, lists, instances) are compared by identity;
what changes about them is kept in the state's store, and an object without an entry there is as it was created.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dataclasses import dataclass as sealed

    import libcst as cst
else:

    def sealed(frozen: bool, slots: bool, eq: bool = True) -> type:
        """A frozen dataclass to the type checker; a plain one as it runs, which is made in a third of the time."""
        return dataclass(slots=slots, eq=eq, unsafe_hash=eq)


__all__ = ["sealed"]  # to the type checker it is imported, and others import it from here

ASSUMPTIONS = 64
"""The most that one point or one value is taken to hang on: a function of a thousand branches is read all the same."""
CHOICES = 6
"""Most alternatives that a value is followed through; what goes beyond is forgotten."""
ROUTES = 4
"""Most ways to one node of a graph that are told apart, and most assumptions by which they are."""


class Grad(IntEnum):
    """Whether a tensor requires grad."""

    NO = 0
    MAYBE = 1
    YES = 2


@sealed(frozen=True, slots=True)
class Const:
    """A Python constant the program text fixes."""

    value: Any


@sealed(frozen=True, slots=True, eq=False)
class Tuple:
    """A tuple whose elements are known one by one.

    Two are equal where their elements are, and the tuples in them the same: where each holds the one before twice, going
    into them has no end.
    """

    items: tuple[Value, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tuple) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return tuple([id(item) if type(item) is Tuple else item for item in self.items])


@sealed(frozen=True, slots=True)
class Ref:
    """Something imported, by its full dotted name: ``torch.nn.functional.relu``."""

    name: str


@sealed(frozen=True, slots=True)
class Slice:
    """A slice expression: lower bound, upper bound, step."""

    lower: Value
    upper: Value
    step: Value


class Unknown:
    """A value the analysis cannot name; the same object always stands for the same value.

    ``default`` is what it most likely is (a parameter's default), ``grad`` and ``node`` what it would bring along
    if it turned out to be a tensor, ``scalar`` says that it is none, ``positive`` that it is a number above zero,
    ``likely`` that any method of tensors proves it to be one (an argument of an nn.Module's ``forward``).
    """

    __slots__ = ("default", "grad", "likely", "node", "positive", "scalar")

    def __init__(
        self,
        grad: Grad = Grad.NO,
        node: Node | None = None,
        default: Value | None = None,
        scalar: bool = False,
        positive: bool = False,
        likely: bool = False,
    ) -> None:
        self.likely = likely
        self.grad = grad
        self.node = node
        self.default = default
        self.scalar = scalar
        self.positive = positive


def part_grad(value: Unknown) -> Grad:
    """Whether a part of an unknown value requires grad: only arguments of a ``forward`` are trusted to carry graphs."""
    return value.grad if value.likely else Grad.NO


class Object:
    """A Python object with attributes: an instance, a module, a namespace. ``cls`` is its class, if known."""

    __slots__ = ("cls", "initial")

    def __init__(self, cls: Value, initial: Mapping[Any, Value] | None = None) -> None:
        self.cls = cls
        self.initial = Attributes(dict(initial or {}))


class List:
    """A list (or another mutable sequence); ``time`` when the program wrote it down, or 0."""

    __slots__ = ("initial", "time")

    def __init__(self, items: Iterable[Value] = (), open: bool = False, time: int = 0) -> None:
        self.initial = Items(tuple(items), open)
        self.time = time


class Dict:
    """A dictionary; keys that are not constants make it open. ``factory`` makes what a defaultdict has not yet."""

    __slots__ = ("factory", "initial")

    def __init__(self, items: Mapping[Any, Value] | None = None, open: bool = False) -> None:
        self.initial = Attributes(dict(items or {}), open)
        self.factory: Value | None = None


class Storage:
    """The version counter of a tensor. Its state is the set of saves that need what it counts unchanged.

    ``hidden`` is the storage whose memory this one shares behind the counter's back (``x.data``).
    """

    __slots__ = ("hidden", "initial")

    def __init__(self, hidden: Storage | None = None) -> None:
        self.hidden = hidden
        self.initial: frozenset[Saved] = frozenset()


class Cell:
    """The autograd side of a tensor, shared by a base and its views but not by ``detach()``.

    ``base`` is the cell that a view made under no_grad would have shared with grad mode on.
    """

    __slots__ = ("base", "initial")

    def __init__(
        self, grad: Grad = Grad.NO, node: Node | None = None, leaf: bool = True, base: Cell | None = None
    ) -> None:
        self.base = base
        self.initial = CellState(grad, node, leaf)


class Tensor:
    """A tensor object.

    ``view`` is "" for a base, "view", "views" (one of several outputs), "expand", "no_grad", "hook" (beside a full
    backward hook) or "custom" (returned by a custom function); ``contiguous`` is False after a transposition; ``dims``
    is the number of dimensions, where known; ``origin`` is "op" where an operator of this program computed it, "blank"
    where it was made to be filled, "maybe" where it may be the tensor that it was made of, "cast" where that hangs on a
    dtype; ``time`` when one of several outputs, ``.data`` or ``detach()`` was made; ``lead`` is "one" where the first
    dimension has size one, "shared" where its rows are one in memory, "row" for such a row, and for an element of
    ``[x] * n``, "windows" for those of ``unfold`` that overlap; ``tail`` is "one" or "shared" for the last dimension;
    ``spelled`` is the subscript that took a part.
    """

    __slots__ = ("cell", "contiguous", "dims", "lead", "origin", "spelled", "storage", "tail", "time", "view")

    def __init__(
        self,
        storage: Storage | None = None,
        cell: Cell | None = None,
        view: str = "",
        contiguous: bool = True,
        dims: int | None = None,
    ) -> None:
        self.dims = dims
        self.origin = ""
        self.lead = self.tail = ""
        self.time = 0
        self.spelled: cst.CSTNode | None = None
        self.storage = storage or Storage()
        self.cell = cell or Cell()
        self.view = view
        self.contiguous = contiguous


class Array:
    """A numpy array over the memory of a tensor: a write to it reaches no version counter.

    ``whole`` is the tensor that it shows element by element, if it shows all of one.
    """

    __slots__ = ("storage", "whole")

    def __init__(self, storage: Storage, whole: Tensor | None = None) -> None:
        self.storage = storage
        self.whole = whole


class Choice:
    """One of several values, each under the guard that leads to it; with a single one there may be none at all."""

    __slots__ = ("options",)

    def __init__(self, options: tuple[tuple[Guard, Value], ...]) -> None:
        self.options = options


@sealed(frozen=True, slots=True)
class Condition:
    """A test: the assumptions that hold where it is true, and where it is false."""

    true: Guard
    false: Guard


class Callable_:
    """Base of the values that other rooms add: functions, classes and bound methods."""

    __slots__ = ()


Value = Const | Tuple | Ref | Slice | Unknown | Object | List | Dict | Tensor | Array | Choice | Condition | Callable_
Guard = frozenset[tuple[Unknown, bool]]
ALWAYS: Final[Guard] = frozenset()
NONE: Final = Const(None)
ITEMS: Final = "[]"
"""The attribute in which an object that is a container keeps its list or dictionary."""


@sealed(frozen=True, slots=True)
class CellState:
    grad: Grad
    node: Node | None
    leaf: bool


@sealed(frozen=True, slots=True)
class Items:
    """Contents of a list. ``open``: there may be more; ``picked`` maps indices that were used to positions."""

    items: tuple[Value, ...]
    open: bool = False
    picked: Mapping[Hashable, int] = field(default_factory=dict)


@sealed(frozen=True, slots=True)
class Attributes:
    """Contents of a dictionary or an object."""

    items: Mapping[Any, Value]
    open: bool = False


@sealed(frozen=True, slots=True, eq=False)
class Saved:
    """A tensor that an operator keeps for its backward: which operator, which of its slots, where, on which paths.

    ``hooked`` says that hooks keep it, which autograd's version check does not reach; ``possible`` that code which this
    file does not show may keep it, or not; ``needs`` are the operands for whose gradient it is kept, if all are known.
    """

    op: str
    slot: str
    storage: Storage
    place: Any
    guard: Guard
    calls: tuple[Any, ...] = ()
    hooked: bool = False
    possible: bool = False
    needs: frozenset[Cell] = frozenset()


@sealed(frozen=True, slots=True, eq=False)
class Node:
    """A node of the autograd graph (a ``grad_fn``): what it saved and what it came from, and on which paths it does."""

    op: str
    saves: tuple[Saved, ...]
    parents: tuple[Node, ...]
    guard: Guard = ALWAYS


@sealed(frozen=True, slots=True, eq=False)
class Write:
    """An overwriting of a storage: its form ("op_", "inplace", "augmented", ...), where, and by which calls."""

    form: str
    place: Any
    guard: Guard
    calls: tuple[Any, ...] = ()


def graph(*nodes: Node | None) -> Iterator[Node]:
    """Every node that a backward pass from these would visit."""
    seen: set[int] = set()
    todo = [n for n in nodes if n is not None]
    while todo:
        node = todo.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            todo.extend(node.parents)


def routes(sources: Iterable[tuple[Node, Guard]], start: Guard) -> Iterator[tuple[Node, Guard]]:
    """Every node that a backward pass from these would visit, with assumptions under which it would."""
    todo = [(node, start | guard) for node, guard in sources]
    most = max((len(guard) for _, guard in todo), default=0) + ROUTES
    seen: dict[Node, list[Guard]] = {}
    while todo:
        node, guard = todo.pop()
        if node.guard and len(guard) < most:
            if not compatible(node.guard, guard):
                continue
            guard |= node.guard
        before = seen.setdefault(node, [])
        guard = guard if len(before) < ROUTES else start  # beyond these, as if there was but one
        if not any(other <= guard for other in before):
            before.append(guard)
            yield node, guard
            todo.extend((parent, guard) for parent in node.parents)


def phi(nodes: Iterable[Node | None]) -> Node | None:
    """The history of a value that may have come by any of these."""
    unique = list(dict.fromkeys(n for n in nodes if n is not None))
    if len(unique) < 2:
        return unique[0] if unique else None
    return Node("phi", (), tuple(unique))


def compatible(*guards: Guard) -> bool:
    """Whether one run of the program can satisfy all these guards."""
    seen: dict[Unknown, bool] = {}
    for guard in guards:
        for symbol, truth in guard:
            if seen.setdefault(symbol, truth) is not truth:
                return False
    return True


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


def join(options: list[tuple[Guard, Any]]) -> Any:
    """The value or object state that stands for all of these, each reached under its guard."""
    first = options[0][1]
    if _same(options):
        return first
    if isinstance(first, CellState):
        states = [value for _, value in options]
        return CellState(max(s.grad for s in states), phi(s.node for s in states), all(s.leaf for s in states))
    if isinstance(first, frozenset):
        return frozenset().union(*(value for _, value in options))
    if isinstance(first, Items):
        return _join_items(options)
    if isinstance(first, Attributes):
        return _join_attributes(options)
    if isinstance(first, Value):
        return choose(options)
    if isinstance(first, tuple):  # writes that were made to one memory
        return tuple(dict.fromkeys(event for _, events in options for event in events))
    if type(first) is int:  # moments; 0 stands for none
        moments = [moment for _, moment in options]
        return max(moments) if all(moments) else 0
    return first


def _same(options: list[tuple[Guard, Any]]) -> bool:
    first = options[0][1]
    for _, value in options:  # noqa: SIM110 - a generator costs more than what it is asked
        if value is not first:
            return False
    return True


def _join_items(options: list[tuple[Guard, Items]]) -> Items:
    longest = max(len(state.items) for _, state in options)
    items = []
    for index in range(longest):
        there = [(guard, s.items[index]) for guard, s in options if index < len(s.items)]
        items.append(choose(there, partial=len(there) < len(options)))
    same = all(len(s.items) == longest and not s.open for _, s in options)
    return Items(tuple(items), not same)


def _join_attributes(options: list[tuple[Guard, Attributes]]) -> Attributes:
    items: dict[Hashable, Value] = {}
    for name in dict.fromkeys(name for _, s in options for name in s.items):
        items[name] = choose([(guard, s.items[name]) for guard, s in options if name in s.items])
    return Attributes(items, any(s.open for _, s in options))


def choose(options: list[tuple[Guard, Value]], partial: bool = False) -> Value:
    """A value that is one of several; ``partial`` where on other paths there is none."""
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
    """Add an option; of two guards for one value that differ in the truth of one symbol the rest is left."""
    for index, (other, known) in enumerate(flat):
        if known is value or (isinstance(value, Const) and known == value):
            if other <= guard:
                return
            difference = other ^ guard
            if guard < other or (len(difference) == 2 and len({symbol for symbol, _ in difference}) == 1):
                del flat[index]
                _add_option(flat, other & guard, value)
                return
    flat.append((guard, value))


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
