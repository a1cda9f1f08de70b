"""The log of in-place writes, and the queries on it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from ..heap.autograd import compatible
from ..heap.regions import origins, takes_whole
from ..heap.state import Declared, in_order, latest, same_or_none
from ..heap.values import Array, Choice, Dict, Guard, List, Object, Storage, Tensor, Tuple, Value
from ..program.sealed import sealed
from ..program.site import Site
from .frames import Frame
from .trace import Trace

if TYPE_CHECKING:
    import libcst as cst

FILLING = frozenset("zero_ fill_ copy_ normal_ uniform_ bernoulli_ exponential_ random_ set_".split())
"""In-place methods that replace all values without reading them."""
FILLING |= frozenset(
    "zeros_ ones_ constant_ eye_ dirac_ trunc_normal_ orthogonal_ sparse_ xavier_uniform_ xavier_normal_ "
    "kaiming_uniform_ kaiming_normal_".split()
)
"""Functions of torch.nn.init that do so with their first argument."""
EVENTS = 8
"""The most writes to one memory that are remembered."""
PLACES = 3
"""How deep tensors are looked for in what a list takes, or a function is given."""
ENTRIES = 8
"""Of how many entries of a list or dictionary that a function is given."""


class Change(Enum):
    """What a write makes the new values of."""

    CONVERTED = auto()  # of the old ones and constants: ``x /= 255``
    SHIFTED = auto()  # a number is added to the old ones, or put beside them: ``x += 1``, ``x[0] = 2``
    MARKED = auto()  # one number is put where a mask says, into what has no gradient: ``x[mask] = 0``
    OTHER = auto()  # of other tensors, or all values were replaced


@dataclass(frozen=True, slots=True)
class Written:
    """What a write puts where: the operator, its other operands, and the index if only a part is written."""

    op: str = ""
    values: tuple[Value, ...] = ()
    index: tuple[Value, ...] | None = None


PLAIN = Written()
"""A write of which only the place is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Overwrite:
    """A tensor was overwritten in place.

    ``name`` is the variable of ``frames[-1]`` that the write was spelled with, if it was one; ``line`` the statement;
    ``filled`` says that the function replaced all values first, as it does with an argument that is its output;
    ``written`` what was put where, and ``change`` what the new values are made of.
    """

    tensor: Tensor
    form: str
    site: Site
    time: int
    frames: tuple[Frame, ...]
    name: str
    line: cst.CSTNode | None
    guard: Guard
    filled: bool
    change: Change
    written: Written


@sealed(frozen=True, slots=True, eq=False)
class Yielded:
    """A value that a generator yielded: when, the frame of the generator, the value."""

    time: int
    frame: Frame
    value: Value


WRITES: Declared[Storage, tuple[Overwrite, ...]] = Declared(in_order)
"""The in-place writes to each storage, the last ``EVENTS`` of them."""
STORED: Declared[Any, int] = Declared(latest)
"""When a container took a tensor, by the container and the tensor's storage; when an attribute was bound, by the
instance and its name; when ``x.data`` was given other memory, by "data" and that memory."""
KEEPERS: Declared[tuple[Object, str], Frame | None] = Declared(same_or_none)
"""The frame that bound an attribute of an instance last."""
RETURNED: Declared[Any, Tensor | None] = Declared(same_or_none)
"""The argument that a function overwrote and its caller goes on with, by the write."""
YIELDS: Declared[Value, tuple[Yielded, ...]] = Declared(in_order)
"""What a generator yielded, by the list that stands for its values."""


def since(m: Trace, tensor: Tensor, time: int) -> list[Overwrite]:
    """The writes to the memory of a tensor after a moment, as far as the present path has seen them.

    What was there before all values were replaced is not asked for any more.
    """
    guard, events = m.state.guard(), m.state[WRITES].get(tensor.storage, ())
    found = [event for event in events if event.time > time and compatible(event.guard, guard)]
    filled = [event.time for event in found if event.guard <= guard and fills(event.tensor, event.written)]
    return [event for event in found if event.time >= max(filled)] if filled else found


def fills(tensor: Tensor, written: Written) -> bool:
    """Whether a write replaces all values of a tensor, and not of a part of it, without reading them."""
    if written.op not in FILLING or not takes_whole(tensor):
        return False
    read = [operand for value in written.values for _, operand in origins(value) if isinstance(operand, Tensor)]
    return all(operand.storage is not tensor.storage for operand in read)


def again(m: Trace, event: Overwrite, time: int) -> bool:
    """Whether the function that wrote had written there before ``time`` too: it works in memory that it handed out.

    What is an argument of its own, its caller handed to it.
    """
    frame, storage = event.frames[-1], event.tensor.storage
    given = [tensor.storage for value in frame.given for tensor in direct_tensors(m, value)]
    return (frame.function is not None and storage not in given) and any(
        before.time <= time and before.site.expression is event.site.expression
        for before in m.state[WRITES].get(storage, ())
        if before.frames[-1] is not frame
    )


def whole(value: Tensor, event: Overwrite) -> bool:
    """Whether a tensor is surely, element by element, what was overwritten."""
    both = (value, event.tensor)
    return value is event.tensor or all(tensor.view == "" and tensor.origin not in ("maybe", "cast") for tensor in both)


def array_backing(value: Value) -> Value:
    """The tensor whose values a numpy array shows; anything else as it is."""
    return value.whole if isinstance(value, Array) and value.whole is not None else value


def given_tensors(m: Trace, value: Value, result: Value, depth: int = PLACES) -> list[Tensor]:
    """The tensors that a caller gave, also in lists and dictionaries, but for one that it is given back."""
    value = m.see(value)
    if isinstance(value, (List, Dict)):
        if value is result or depth == 0:
            return []
        every = m.state.get(value).items if isinstance(value, List) else m.state.get(value).items.values()
        inside = list(every)[:ENTRIES]
        return [found for item in inside for found in given_tensors(m, item, result, depth - 1)]
    return direct_tensors(m, value)


def direct_tensors(m: Trace, value: Value) -> list[Tensor]:
    value = m.see(value)
    if isinstance(value, Choice):
        return [found for _, option in value.options for found in direct_tensors(m, option)]
    items: Any = value.items if isinstance(value, Tuple) else (value,)
    return [item for item in map(m.see, items) if isinstance(item, Tensor)]
