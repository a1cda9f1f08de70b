"""The abstract values of the analysis.

Objects (tensors, lists, instances) are compared by identity. Their mutable state is in the store of `State`; an object
without an entry there is unchanged since it was created.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import field
from enum import Enum, IntEnum, auto
from typing import Any, Final

from ..program.sealed import sealed
from ..program.site import Site


class Grad(IntEnum):
    """Whether a tensor requires grad."""

    NO = 0
    MAYBE = 1
    YES = 2


class View(Enum):
    """Whether a tensor is a view, and of which kind. The values are the words of ``reveal``."""

    NONE = ""  # a base
    ORDINARY = "view"  # x[0], x.view(-1), x.T
    MULTI_OUTPUT = "views"  # one output of split, chunk or unbind, or an element of an iteration
    EXPANDED = "expand"  # several of its elements are one in memory
    NO_GRAD = "no_grad"  # made while grad mode was off
    BACKWARD_HOOK = "hook"  # an input or output of a module with a full backward hook
    CUSTOM = "custom"  # returned by a custom autograd function


class Source(Enum):
    """Where a tensor comes from, and so whether it is surely another tensor than the one it was made of."""

    OTHER = auto()  # a parameter, an argument, a view
    COMPUTED = auto()  # an operator of this program computed it
    BLANK = auto()  # memory made to be filled: torch.zeros, torch.empty
    MAYBE_ALIAS = auto()  # a copy, or a view of the tensor that it was made of: reshape
    MAYBE_SAME = auto()  # a copy, or the tensor itself: contiguous
    MAYBE_CAST = auto()  # a copy if the dtype or the device differs, else the same tensor: to, float


class DType(Enum):
    """What is known of the type of a tensor's elements."""

    UNKNOWN = auto()
    INTEGRAL = auto()  # integers or booleans, which have no gradient
    DOUBLE = auto()  # float64
    LOWER = auto()  # the lower precision, as `torch.autocast` casts to: bfloat16, half


class Dimension(Enum):
    """What is known of the first or the last dimension of a tensor."""

    UNKNOWN = auto()
    SIZE_ONE = auto()
    EXPANDED = auto()  # its rows are one in memory
    ROW = auto()  # the tensor itself is such a row, or an element of ``[x] * n``
    OVERLAPPING = auto()  # windows of ``unfold`` that share elements


@sealed(frozen=True, slots=True)
class Const:
    """A Python constant that the program text determines."""

    value: Any


@sealed(frozen=True, slots=True, eq=False)
class Tuple:
    """A tuple with known elements.

    Two tuples are equal if their elements are. Nested tuples are compared by identity: a chain of tuples, each with the
    one before in it twice, would take exponential time to compare.
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
    """An opaque value, used as a symbol: the same object always stands for the same value.

    - ``default``: what it most likely is, such as the default of a parameter.
    - ``grad``, ``node``: whether it requires grad and its history, if it turns out to be a tensor.
    - ``scalar``: it is not a tensor.
    - ``positive``: it is a number above zero.
    - ``likely``: any method that tensors have proves it to be a tensor. True for arguments of a ``forward``.
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
    """Return whether a part of an unknown value requires grad. Only parts of arguments of a ``forward`` may."""
    return value.grad if value.likely else Grad.NO


class Object:
    """A Python object with attributes: an instance, a module, a namespace. ``cls`` is its class, if known.

    ``time`` is when a record was made with the values of its fields, or 0. ``place`` is the call that made it.
    """

    __slots__ = ("cls", "initial", "place", "time")

    def __init__(self, cls: Value, initial: Mapping[Any, Value] | None = None) -> None:
        self.cls = cls
        self.initial = Attributes(dict(initial or {}))
        self.place: Site | None = None
        self.time = 0


class List:
    """A list or another mutable sequence, or a tuple of unknown length, ``fixed``.

    ``time`` is when a display, a comprehension or ``list()`` created it, or 0. ``noted``: the state tells whether a
    path has it.
    """

    __slots__ = ("fixed", "initial", "noted", "time")

    def __init__(self, items: Iterable[Value] = (), open: bool = False, time: int = 0, fixed: bool = False) -> None:
        self.initial = Items(tuple(items), open)
        self.time = time
        self.fixed = fixed
        self.noted = False


class Dict:
    """A dictionary. Keys that are not constants make it open.

    ``factory`` is that of a defaultdict. ``time`` is when a display or comprehension created it, or 0.
    """

    __slots__ = ("factory", "initial", "time")

    def __init__(self, items: Mapping[Any, Value] | None = None, open: bool = False, time: int = 0) -> None:
        self.initial = Attributes(dict(items or {}), open)
        self.time = time
        self.factory: Value | None = None


class Storage:
    """The version counter of a tensor. Its state is the set of `Saved` tensors in its memory that must not change.

    ``hidden`` is the storage with the same memory and another version counter: for ``x.data``, that of ``x``.
    ``numpy``: numpy made the memory. ``op``: the operator that made it for its result.
    ``inference``: it was made in inference mode.
    """

    __slots__ = ("hidden", "inference", "initial", "numpy", "op")

    def __init__(self, hidden: Storage | None = None) -> None:
        self.hidden = hidden
        self.numpy = False
        self.inference: bool = hidden is not None and hidden.inference
        self.op = ""
        self.initial: frozenset[Saved] = frozenset()

    @property
    def memory(self) -> Storage:
        """The storage that the memory was made with: for ``x.data``, that of ``x``."""
        return self.hidden or self


class Cell:
    """The autograd metadata of a tensor. A base and its views share it; ``detach()`` makes a new one.

    ``base``, of a view made under ``no_grad``, is the cell that it would share with its base in grad mode.
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
    """The operator that computed a tensor, its operands, and when it ran."""

    op: str
    values: tuple[Value, ...]
    time: int


class Tensor:
    """A tensor object."""

    __slots__ = (
        *("cell", "contiguous", "dims", "dtype", "lead", "made", "origin", "place", "region", "shape", "storage"),
        *("tail", "time", "view"),
    )

    def __init__(
        self,
        storage: Storage | None = None,
        cell: Cell | None = None,
        view: View = View.NONE,
        contiguous: bool = True,
        dims: int | None = None,
        dtype: DType = DType.UNKNOWN,
    ) -> None:
        self.storage = storage or Storage()
        self.cell = cell or Cell()
        self.view = view
        self.contiguous = contiguous  # False after a transposition
        self.dims = dims  # the number of dimensions, if known
        self.shape: tuple[int, ...] | None = None  # if the text gives it
        self.dtype = dtype
        self.origin = Source.OTHER
        self.made: Origin | None = None  # of a tensor with memory of its own, and of ``x.detach()`` and ``x.data``
        self.region: Region | None = None  # of a view
        self.time = 0  # when one of several outputs, ``.data`` or ``detach()`` was made
        self.lead = self.tail = Dimension.UNKNOWN  # the first and the last dimension
        self.place: Site | None = None  # the expression that it first was the value of, or the parameter


class Array:
    """A numpy array. A write to it increments no version counter.

    ``tensor`` is a tensor with the same elements, whether the program has it or not.
    """

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


class Choice:
    """One of several values, each with the guard of its path. With a single option, other paths have no value."""

    __slots__ = ("options",)

    def __init__(self, options: tuple[tuple[Guard, Value], ...]) -> None:
        self.options = options


@sealed(frozen=True, slots=True)
class Condition:
    """The result of a test: the assumptions under which it is true, and those under which it is false."""

    true: Guard
    false: Guard


class Callable_:
    """Base class of the callable values, which `trace` defines: functions, classes, bound methods."""

    __slots__ = ()


Value = Const | Tuple | Ref | Slice | Unknown | Object | List | Dict | Tensor | Array | Choice | Condition | Callable_
Guard = frozenset[tuple[Unknown, bool]]
ALWAYS: Final[Guard] = frozenset()
NONE: Final = Const(None)
CHECKPOINT: Final = "checkpoint"
"""Said of what is saved in a checkpoint that is not reentrant: saved-tensor hooks drop it, and it is computed again."""
ITEMS: Final = "[]"
"""The attribute with the list or dictionary of an object that is a container."""


@sealed(frozen=True, slots=True)
class CellState:
    """Whether a tensor requires grad, and its ``grad_fn``.

    ``without``: paths on which it requires no grad. ``unsure``: those on which it may, if it surely does on others.
    """

    grad: Grad
    node: Node | None
    leaf: bool
    without: tuple[Guard, ...] = ()
    unsure: tuple[Guard, ...] = ()


@sealed(frozen=True, slots=True)
class Items:
    """The elements of a list. ``open``: there may be more. ``picked`` maps unknown indices in use to positions."""

    items: tuple[Value, ...]
    open: bool = False
    picked: Mapping[Hashable, int] = field(default_factory=dict)


@sealed(frozen=True, slots=True)
class Attributes:
    """The entries of a dictionary, or the attributes of an object. ``open``: there may be more."""

    items: Mapping[Any, Value]
    open: bool = False


@sealed(frozen=True, slots=True, eq=False)
class Saved:
    """A tensor that an operator saves for backward.

    - ``slot``: which operand, by its name, "result", or "made" in a custom function.
    - ``place``, ``guard``, ``calls``: where, on which paths, and by which calls.
    - ``hooked``: "share" if saved-tensor hooks hold it, "checkpoint" if a checkpoint computes it again; else "".
      Autograd checks the version of neither.
    - ``possible``: unknown code may or may not save it.
    - ``needs``: the operands for whose gradient it is saved, if all are known.
    - ``device``: the one device that saves it, if others don't.
    - ``asking``: the operands of which one must require grad, if that is certain of none.
    - ``leaf``: it is a leaf that requires grad, such as a parameter.
    - ``used``: the operands that may require grad and whose gradient is computed from its values, if those are not
      all of ``needs``; else None.
    """

    op: str
    slot: str
    storage: Storage
    place: Site
    guard: Guard
    calls: tuple[Site, ...] = ()
    hooked: str = ""
    possible: bool = False
    needs: frozenset[Cell] = frozenset()
    device: str = ""
    asking: tuple[Tensor, ...] = ()
    leaf: bool = False
    used: tuple[Tensor, ...] | None = None

    @property
    def recomputed(self) -> bool:
        """Whether a checkpoint computes it again in the backward."""
        return self.hooked == CHECKPOINT


@sealed(frozen=True, slots=True, eq=False)
class Node:
    """A node of the autograd graph (a ``grad_fn``): what it saved, its parents, and the guard under which it exists.

    ``leaves``: the leaves among its operands. None is among them if there may be others.
    """

    op: str
    saves: tuple[Saved, ...]
    parents: tuple[Node, ...]
    guard: Guard = ALWAYS
    leaves: tuple[Cell | None, ...] = (None,)


TENSOR = Ref("torch.Tensor")
UNCERTAIN: Final = (Source.MAYBE_ALIAS, Source.MAYBE_SAME, Source.MAYBE_CAST)
"""Sources of what may or may not be the tensor that it was made of."""


def is_number(value: Value) -> bool:
    if isinstance(value, Const):
        return isinstance(value.value, (int, float)) and not isinstance(value.value, bool)
    return isinstance(value, Unknown) and value.scalar


def is_tuple(value: Value) -> bool:
    return type(value) is Tuple or (type(value) is List and value.fixed)


def constant(value: Value) -> Any:
    """Return the Python constant that a value is, or None. A parameter counts as its default."""
    if isinstance(value, Unknown) and value.default is not None:
        value = value.default
    return value.value if isinstance(value, Const) else None


Bindings = dict[str, Value]
