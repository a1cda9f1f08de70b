"""The abstract values of the analysis.

Objects (tensors, lists, instances) are compared by identity; what changes about them is kept in the state's store, and
an object without an entry there is as it was created.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import field
from enum import IntEnum
from typing import Any, Final

from ..program.sealed import sealed
from ..program.site import Site


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

    Two are equal if their elements are, and if tuples in them are the same objects: comparing tuples that each hold
    the one before twice would take exponential time.
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


@sealed(frozen=True, slots=True, eq=False)
class Region:
    """Which elements of ``base`` a view takes, by the indices of the dimensions, and when it was taken.

    ``reshaped`` says that it takes every element, in another shape: ``x.unsqueeze(0)``.
    """

    base: Tensor
    index: tuple[Value, ...]
    time: int
    reshaped: bool = False


@sealed(frozen=True, slots=True, eq=False)
class Origin:
    """The operator that computed a tensor, what it was given, and when."""

    op: str
    values: tuple[Value, ...]
    time: int


class Tensor:
    """A tensor object."""

    __slots__ = ("cell", "contiguous", "dims", "lead", "made", "origin", "region", "storage", "tail", "time", "view")

    def __init__(
        self,
        storage: Storage | None = None,
        cell: Cell | None = None,
        view: str = "",
        contiguous: bool = True,
        dims: int | None = None,
    ) -> None:
        self.storage = storage or Storage()
        self.cell = cell or Cell()
        # "" for a base, "view", "views" (one of several outputs), "expand", "no_grad", "inference", "hook" (beside a
        # full backward hook), "custom" (returned by a custom function)
        self.view = view
        self.contiguous = contiguous  # False after a transposition
        self.dims = dims  # the number of dimensions, if known
        # "op": an operator of this program computed it; "blank": it was made to be filled; "maybe": it may be the
        # tensor that it was made of; "cast": that depends on a dtype
        self.origin = ""
        self.made: Origin | None = None  # of a tensor with memory of its own
        self.region: Region | None = None  # of a view
        self.time = 0  # when one of several outputs, ``.data`` or ``detach()`` was made
        # of the first dimension: "one" of size one, "shared" rows that are one in memory, "row" such a row or an
        # element of ``[x] * n``, "windows" of ``unfold`` that overlap; of the last: "one" or "shared"
        self.lead = self.tail = ""


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
    place: Site
    guard: Guard
    calls: tuple[Site, ...] = ()
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


TENSOR = Ref("torch.Tensor")


def is_number(value: Value) -> bool:
    if isinstance(value, Const):
        return isinstance(value.value, (int, float)) and not isinstance(value.value, bool)
    return isinstance(value, Unknown) and value.scalar


def constant(value: Value) -> Any:
    """The Python constant behind a value, or None; unknown parameters count as their defaults."""
    if isinstance(value, Unknown) and value.default is not None:
        value = value.default
    return value.value if isinstance(value, Const) else None


Bindings = dict[str, Value]
