"""The log of in-place writes, and the queries on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from ..heap.autograd import compatible
from ..heap.regions import origins, same_tensor, share, takes_whole
from ..heap.state import Declared, in_order, latest, same_or_none, union
from ..heap.values import (
    NONE,
    UNCERTAIN,
    Array,
    Cell,
    Choice,
    Const,
    Dict,
    Guard,
    List,
    Object,
    Storage,
    Tensor,
    Tuple,
    Unknown,
    Value,
    View,
    is_number,
)
from ..program.sealed import sealed
from ..program.site import Site
from .frames import Frame
from .reports import Refusal
from .trace import Trace

if TYPE_CHECKING:
    import libcst as cst

FILLING = frozenset(
    "zero_ fill_ copy_ normal_ uniform_ bernoulli_ exponential_ random_ set_ "
    "zeros_ ones_ constant_ eye_ dirac_ trunc_normal_ orthogonal_ sparse_ xavier_uniform_ xavier_normal_ "
    "kaiming_uniform_ kaiming_normal_".split()
)
"""In-place methods that replace all values without reading them, and functions of torch.nn.init that do the same."""
EVENTS = 8
"""The most writes to one storage that are logged; older ones are dropped."""
PLACES = 3
"""How deep containers are searched for tensors, in a value put into a list and in an argument."""
ROUNDING = 1e-9
"""How far from zero a sum of steps may be that add up to nothing."""
ENTRIES = 8
"""How many entries of a list or dictionary among the arguments are searched."""


class Change(Enum):
    """What the new values of a write are computed from."""

    CONVERTED = auto()  # the old values and constants: ``x /= 255``
    SHIFTED = auto()  # the old values plus a number, or a constant in one place: ``x += 1``, ``x[0] = 2``
    MARKED = auto()  # a number where a mask is true, in a tensor that has no gradient: ``x[mask] = 0``
    OTHER = auto()  # other tensors, or all values were replaced


@dataclass(frozen=True, slots=True)
class Written:
    """The new values of a write: the operator, its other operands, and the index if it writes only a part.

    ``array``: it was written through an array of numpy. ``unseen``: a kernel left a gradient in its place.
    """

    op: str = ""
    values: tuple[Value, ...] = ()
    index: tuple[Value, ...] | None = None
    array: bool = False
    unseen: bool = False


PLAIN = Written()
"""A write of unknown values."""


@dataclass(frozen=True, slots=True, eq=False)
class Overwrite:
    """One in-place write to a tensor.

    - ``frames``: the frames of the call stack, the innermost last.
    - ``name``: the variable of ``frames[-1]`` in the text of the write, or "".
    - ``named``: the function has a name for what it writes to. That is a variable with the tensor, or with a list or
      dictionary that has it, or an attribute that this call has bound to it: ``self.h = x``, ``self.h += 1``.
    - ``line``: the statement.
    - ``filled``: the function replaced all values before, as it does with an output argument.
    - ``written``, ``change``: the new values, and what they are computed from.
    - ``counter``: the version counter that it raised. It is logged for the others over that memory, too, if no gradient
      is involved.
    """

    tensor: Tensor
    form: str
    site: Site
    time: int
    frames: tuple[Frame, ...]
    name: str
    named: bool
    line: cst.CSTNode | None
    guard: Guard
    filled: bool
    change: Change
    written: Written
    counter: Storage


@dataclass(frozen=True, slots=True, eq=False)
class Refused:
    """A write that PyTorch refuses. With a fix it runs, and whoever reads the memory after it is to see it."""

    tensor: Tensor
    site: Site
    time: int
    frames: tuple[Frame, ...]


@sealed(frozen=True, slots=True, eq=False)
class Yielded:
    """A yielded value: when, the frame of the generator, the value."""

    time: int
    frame: Frame
    value: Value


WRITES: Declared[Storage, tuple[Overwrite, ...]] = Declared(in_order)
"""The in-place writes to each storage, the last ``EVENTS`` of them."""
REFUSED: Declared[Storage, tuple[Refused, ...]] = Declared(in_order)
"""The writes to each storage that PyTorch refuses, the last ``EVENTS`` of them; noted for those who look for fixes."""
STORED: Declared[tuple[object, object], int] = Declared(latest)
"""When a tensor was put into a container, by container and storage; when an attribute was bound, by instance and name;
when ``x.data`` was assigned, by "data" and the storage of ``x``. Negative once the program has read it there: it may
have a name for it since then."""
COPIED: Declared[tuple[Value, Tensor], int] = Declared(latest)
"""When a shallow copy was made, by the copy and a tensor in it; negative once the copy has been read."""
ATTRIBUTE_WRITERS: Declared[tuple[Object, str], tuple[Frame, int] | None] = Declared(same_or_none)
"""The frame that last bound an attribute, and when, by instance and name."""
UNCOUNTED: Declared[Storage, frozenset[tuple[int, Storage]]] = Declared(union)
"""The storages over the memory of another one that have counters of their own, and when they were made: ``x.data``."""
RETURNED: Declared[Overwrite | tuple[Change, Overwrite], Tensor | None] = Declared(same_or_none)
"""The arguments that a function overwrote, and that its caller may still read as if it had not: by the write."""
USED: Declared[Overwrite, int] = Declared(latest)
"""When the function that wrote to an array read it afterwards."""
GRADIENTS: Declared[Tensor, Cell | None] = Declared(same_or_none)
"""Whose gradient a tensor is, by what ``x.grad`` returned: the cell of ``x``."""
NAMED: Declared[tuple[Frame, str], frozenset[Refusal]] = Declared(union)
"""What is to be reported once a variable is read that got its name after its value was overwritten."""
YIELDS: Declared[Value, tuple[Yielded, ...]] = Declared(in_order)
"""The values that a generator yielded, by the list of its values."""


def attributes_bound(m: Trace, frame: Frame, after: int, but: tuple[Object, str] | None = None) -> list[Value]:
    """Return what the attributes have that a call of a function has bound after a time; ``but`` is left out."""
    writers = [(key, writer) for key, writer in m.state[ATTRIBUTE_WRITERS].items() if writer is not None and key != but]
    found = [key for key, (writer, bound) in writers if writer is frame and bound > after]
    return [m.see(m.state.get(instance).items.get(name, NONE)) for instance, name in found]


def since(m: Trace, tensor: Tensor, time: int, until: int = 0) -> list[Overwrite]:
    """Return the writes to the memory of a tensor after ``time`` that can be on the present path; ``until`` 0 is now.

    Writes before one that replaced all values are left out, and so are those whose elements were all replaced.
    """
    guard, events = m.state.guard(), m.state[WRITES].get(tensor.storage, ())
    inside = [event for event in events if time < event.time and (event.time <= until or not until)]
    found = [event for event in inside if compatible(event.guard, guard)]
    return _left(m, found, guard, time) if found else found


def _left(m: Trace, found: list[Overwrite], guard: Guard, time: int) -> list[Overwrite]:
    """Return the writes after ``time`` that no later one of them has surely replaced or undone.

    A later one that ran on one path only has done so for the writes of that path.
    """
    filled = [event for event in found if fills(event.tensor, event.written)]
    if filled:
        found = [event for event in found if not any(_follows(each, event, guard) for each in filled)]
    restored = [(begin, event) for event in found if (begin := _restores(m, event)) > time]
    for begin, last in restored:
        found = [event for event in found if not (begin < event.time and _follows(last, event, guard, True))]
    if len(found) > 1:
        undone = _undone(m, [event for event in found if event.guard <= guard])
        found = [event for event in found if event not in undone]
        found = _unreplaced(found, guard)
    return found


def _follows(later: Overwrite, event: Overwrite, guard: Guard, itself: bool = False) -> bool:
    """Return whether a write runs after another one on every path on which that runs."""
    after = later.time > event.time or (itself and later.time == event.time)
    return after and later.guard <= guard | event.guard


def _restores(m: Trace, event: Overwrite) -> int:
    """Return since when all writes are undone by one: by ``x.copy_(old)``, where ``old`` is ``x.clone()``. Else 0."""
    source = m.see(event.written.values[0]) if event.written.op == "copy_" and event.written.values else None
    made = source.made if isinstance(source, Tensor) and source.storage not in m.state[WRITES] else None
    if made is None or made.op != "clone":
        return 0
    of, to = m.see(made.values[0]), event.tensor
    same = isinstance(of, Tensor) and (same_tensor(of, to) or (of.storage is event.counter and of.region is to.region))
    return made.time if same else 0


def _undone(m: Trace, events: list[Overwrite]) -> list[Overwrite]:
    """Return the writes by one name that add up to nothing: ``x[i] += h``, ``x[i] -= 2 * h``, ``x[i] += h``.

    So did the same statements in earlier iterations, of which the log may have the last ones only.
    """
    undone: list[Overwrite] = []
    run: list[Overwrite] = []
    total = 0.0
    for event in events:
        if run and not _goes_on(event, run[0]):
            run, total = [], 0.0
        steps = _steps(m, event, (run or [event])[0])
        run, total = ([*run, event], total + steps) if steps else ([], 0.0)
        if run and abs(total) < ROUNDING:
            undone += run
            run = []
    statements = {event.site.expression: event.time for event in undone}
    return [event for event in events if event.time <= statements.get(event.site.expression, 0)]


def _goes_on(event: Overwrite, first: Overwrite) -> bool:
    """Whether a write moves what another one did, by the same name: ``plus`` and ``minus`` are to be two values."""
    same = same_tensor(event.tensor, first.tensor) and event.written.index == first.written.index
    return same and event.name == first.name and event.frames[-1] is first.frames[-1]


def _steps(m: Trace, event: Overwrite, first: Overwrite) -> float:
    """Return how many times a write adds what the first one has added, negative if it subtracts it; 0 if unknown."""
    op = event.written.op.removesuffix("_")
    if op not in ("add", "sub") or len(event.written.values) != 1 or len(first.written.values) != 1:
        return 0
    step, value = m.see(first.written.values[0]), m.see(event.written.values[0])
    if isinstance(step, Const) and isinstance(value, Const):
        known = is_number(step) and is_number(value) and step.value
        times = float(value.value / step.value) if known else 0.0
    else:
        twice = [m.symbols.get(("mul", *pair)) for pair in ((Const(2), step), (step, Const(2)))]
        times = 2.0 if isinstance(value, Unknown) and value in twice else float(value == step)
    return times if op == first.written.op.removesuffix("_") else -times


def _unreplaced(events: list[Overwrite], guard: Guard) -> list[Overwrite]:
    """Return the writes but those to elements that all got other values later: ``x[i] = 0``, ``x[i] = 1``."""
    replacing: dict[object, list[Overwrite]] = {}
    for event in events:
        if event.written.op == "setitem" and event.written.index and not reads(event.tensor, event.written):
            replacing.setdefault(event.written.index, []).append(event)

    def is_replaced(event: Overwrite) -> bool:
        later = replacing.get(event.written.index, ()) if replacing else ()
        return any(_follows(new, event, guard) and same_tensor(new.tensor, event.tensor) for new in later)

    return [event for event in events if not is_replaced(event)]


def since_in_memory(m: Trace, tensor: Tensor, time: int) -> list[Overwrite]:
    """Return the writes to the memory of a tensor after ``time``, those that its version counter misses too."""
    every = over_memory(m, tensor.storage)
    return [event for storage in every for event in since(m, Tensor(storage), time) if event.counter is storage]


def over_memory(m: Trace, storage: Storage) -> list[Storage]:
    """Return a storage, and the others over the same memory: those of ``x`` and of every ``x.data``."""
    others = sorted(m.state[UNCOUNTED].get(storage.memory, ()), key=lambda made: made[0])
    return list(dict.fromkeys((storage, storage.memory, *(other for _, other in others))))


def fills(tensor: Tensor, written: Written) -> bool:
    """Whether a write replaces all values of a tensor, and not of a part of it, without reading them."""
    return written.op in FILLING and takes_whole(tensor) and not reads(tensor, written)


def reads(tensor: Tensor, written: Written) -> bool:
    """Whether the new values of a write were computed from the old ones."""
    read = [operand for value in written.values for _, operand in origins(value) if isinstance(operand, Tensor)]
    return any(operand.storage.memory is tensor.storage.memory for operand in read)


def again(m: Trace, event: Overwrite, time: int) -> bool:
    """Return whether the same write ran before ``time`` too, in another call: the function reuses an output buffer.

    A buffer that is an argument of the function belongs to its caller, and doesn't count. A generator that goes on is
    like another call.
    """
    frame, storage = event.frames[-1], event.tensor.storage
    given = [tensor.storage for value in frame.arguments() for tensor in direct_tensors(m, value)]
    return (frame.function is not None and storage not in given) and any(
        before.time <= time and before.site.expression is event.site.expression
        for before in m.state[WRITES].get(storage, ())
        if before.frames[-1] is not frame or _is_generator(frame)
    )


def is_by_generator(log: Sequence[Yielded], event: Overwrite) -> bool:
    """Whether the code that has yielded these values made a write.

    A generator has a frame of its own. A generator expression hasn't: it makes its last element, and then all of them
    are used.
    """
    frames = [one.frame for one in log if one.frame in event.frames]
    return bool(frames) and (event.time < log[-1].time or any(map(_is_generator, frames)))


def _is_generator(frame: Frame) -> bool:
    return frame.function is not None and frame.function.resume is not None


def whole(value: Tensor, event: Overwrite) -> bool:
    """Return whether a tensor certainly has exactly the elements of the tensor that was overwritten."""
    both = (value, event.tensor)
    if value.region is not None and value.region is event.tensor.region:  # an array, and a tensor over it
        return all(tensor.contiguous for tensor in both)
    return value is event.tensor or all(tensor.view is View.NONE and tensor.origin not in UNCERTAIN for tensor in both)


def lies_in(part: Tensor, event: Overwrite) -> bool:
    """Whether a write went to elements of a part: to ``table[0, 1]``, which is in ``table[0]``, or to a view of it."""
    region, index, view = part.region, event.written.index, event.tensor
    while view.region is not None:
        view = view.region.base
        if same_tensor(view, part):
            return True
    if region is None or region.reshaped or index is None or not same_tensor(region.base, event.tensor):
        return False
    return bool(region.index) and share(region.index, index)


def spelled(m: Trace, event: Overwrite) -> Value:
    """Return what the variable in the text of a write has now."""
    return m.see(event.frames[-1].value(event.name))


def array_backing(value: Value) -> Value:
    """Return the tensor with the elements of a numpy array. Return any other value unchanged."""
    return value.tensor if isinstance(value, Array) else value


def is_record(value: Value) -> bool:
    """Whether a value is an instance of a dataclass or a named tuple of the program."""
    return isinstance(value, Object) and bool(getattr(value.cls, "fields", False))


def given_tensors(m: Trace, value: Value, result: Value, depth: int = PLACES) -> list[Tensor]:
    """Return the tensors in an argument, also in lists, dictionaries and records, except in one that is returned."""
    value = m.see(value)
    if isinstance(value, (List, Dict)) or (isinstance(value, Object) and is_record(value)):
        if value is result or depth == 0:
            return []
        every = m.state.get(value).items if isinstance(value, List) else m.state.get(value).items.values()
        inside = list(every)[:ENTRIES]
        return [found for item in inside for found in given_tensors(m, item, result, depth - 1)]
    return direct_tensors(m, value)


def direct_tensors(m: Trace, value: Value) -> list[Tensor]:
    """Return the tensors that a value, or an element of a tuple, is or may be; an array counts as one."""
    value = m.see(value)
    if isinstance(value, Choice):
        return [found for _, option in value.options for found in direct_tensors(m, option)]
    items = [m.see(item) for item in value.items] if isinstance(value, Tuple) else [value]
    return [item for item in [array_backing(proven(m, item)) for item in items] if isinstance(item, Tensor)]


def proven(m: Trace, value: Value) -> Value:
    """Return the tensor that an unknown value is, if what was made of it was written to: ``y = x.contiguous()``."""
    found = m.tensors.get(value) if type(value) is Unknown and not value.scalar else None
    return found if found is not None and m.state[WRITES].get(found.storage) else value
