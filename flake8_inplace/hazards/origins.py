"""Log each in-place write, with what its new values are computed from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..heap.regions import base_of, plain, same_tensor, takes_all, whole_of
from ..heap.values import (
    ALWAYS,
    NONE,
    Array,
    Cell,
    Choice,
    Dict,
    Grad,
    List,
    Object,
    Slice,
    Source,
    Storage,
    Tensor,
    Tuple,
    Unknown,
    Value,
    View,
    constant,
    is_number,
)
from ..program.site import Site
from ..torchfacts.kinds import ADDING, SCALING
from ..trace import events
from ..trace.frames import Frame
from ..trace.holdings import tensors_in
from ..trace.log import (
    EVENTS,
    FILLING,
    STORED,
    UNCOUNTED,
    WRITES,
    Change,
    Overwrite,
    Written,
    array_backing,
    attributes_bound,
    fills,
    given_tensors,
    over_memory,
    reads,
    since,
)
from ..trace.trace import Trace
from .intent import output_of, variable_of

DEPTH = 6
"""How many operators back `_sources` follows a value."""
_ONE_OF_TWO = frozenset({"min", "max", "minimum", "maximum", "fmin", "fmax"})
"""Operators of two operands whose result is one of them, element by element."""
_MASKS = frozenset({"and", "or", "xor", "__and__", "__or__", "__xor__"})
"""Operators on masks. They are idempotent."""


@events.overwrite.listen
def log_write(m: Trace, tensor: Tensor, form: str, site: Site, written: Written) -> None:
    """Log an in-place write, except those of optimizers. ``x[...] += y`` is one to ``x``."""
    if form in ("step", "renorm") or m.stack.stepping is not None or not m.stack.frames:
        return
    tensor = whole_of(tensor)
    written = _as_update(m, tensor, form, written)
    if _keeps_values(m, tensor, form, written):
        return
    before = m.state[WRITES].get(tensor.storage, ())
    inner = m.stack.frames[-1]
    output = form == "out" and not reads(tensor, written)
    filled = fills(tensor, written) or output
    filled = filled or any(event.filled and event.frames[-1] is inner for event in before)
    name = "" if output else output_of(site) or ("" if form == "out" else variable_of(site, inner))
    through = _through(m, tensor, inner, name)
    held = any(_holds(m, array_backing(value), tensor) for value in through)
    named = held or (bool(name) and not isinstance(m.see(inner.value(name)), Object))
    change = Change.OTHER if filled else _change(m, tensor, inner, through, form, written)
    frames, guard = tuple(m.stack.frames), m.state.guard()
    now, counter = m.tick(), tensor.storage
    line = inner.line
    event = Overwrite(tensor, form, site, now, frames, name, named, line, guard, filled, change, written, counter)
    m.note_way(site)
    m.state.set(m.state[WRITES], tensor.storage, (*before[1 - EVENTS :], event))
    for other in _others(m, tensor):
        before, shown = m.state[WRITES].get(other, ()), name or _spelled_with(m, site, inner, other)
        twin = replace(event, tensor=_over(tensor, other), name=shown)
        m.state.set(m.state[WRITES], other, (*before[1 - EVENTS :], twin))
    events.logged(m, event)


def _through(m: Trace, tensor: Tensor, frame: Frame, name: str) -> list[Value]:
    """Return what may be the name by which a function writes to a tensor: its variable, or what it has bound itself.

    The tensor itself is among it, if the variable is a list or dictionary of its own that it has put the tensor into.
    An element that another function has put there, or an attribute that another one has bound, is a part of a state.
    """
    value = m.see(frame.value(name))
    if not name or isinstance(value, Object):  # ``self.table[rows] = 0``
        return attributes_bound(m, frame, 0)
    put = abs(m.state[STORED].get((value, tensor.storage), 0)) if isinstance(value, (List, Dict)) else 0
    made = value.time if isinstance(value, List) and tensor in value.initial.items else 0
    own = max(put, made) >= max(frame.born, 1) and all(m.see(given) is not value for given in frame.given)
    return [value, *([tensor] if own else ())]


def _as_update(m: Trace, tensor: Tensor, form: str, written: Written) -> Written:
    """Return ``x[:] = x + y`` and ``x.copy_(x + y)`` as the update that they are: ``x += y``.

    ``x[:] = x + 1`` stays an assignment: nobody counts like that.
    """
    whole = form == "subscript" and written.index is not None and all(map(takes_all, written.index))
    value = array_backing(m.see(written.values[0])) if len(written.values) == 1 else NONE
    made = value.made if isinstance(value, Tensor) and value.region is None else None
    if made is None or not (whole or (form, written.op) == ("op_", "copy_")) or made.op not in ADDING | SCALING:
        return written
    operands = [array_backing(m.see(operand)) for operand in made.values]
    old = [operand for operand in operands[:1] if isinstance(operand, Tensor) and same_tensor(operand, tensor)]
    counts = made.op in ADDING and all(map(is_number, operands[1:]))
    if not old or counts or since(m, tensor, made.time):
        return written
    return Written(made.op if whole else f"{made.op}_", tuple(operands[1:]), None, written.array)


def _others(m: Trace, tensor: Tensor) -> list[Storage]:
    """The other storages over the memory of a tensor without a gradient: ``x.data`` is ``x`` there."""
    if tensor.storage.memory not in m.state[UNCOUNTED]:
        return []
    cell: Cell | None = tensor.cell
    while cell is not None:
        if m.state.get(cell).grad is not Grad.NO:
            return []
        cell = cell.base
    return [storage for storage in over_memory(m, tensor.storage) if storage is not tensor.storage]


def _spelled_with(m: Trace, site: Site, frame: Frame, storage: Storage) -> str:
    """The variable in the text of a write that has this counter: ``x`` in ``x.data.add_(1)``."""
    from ..program.wording import root

    name = root(site.expression)
    value = array_backing(m.see(frame.value(name)))
    return name if isinstance(value, Tensor) and value.storage is storage else ""


def _over(tensor: Tensor, storage: Storage) -> Tensor:
    """A tensor by another storage over its memory."""
    other = Tensor(storage, tensor.cell, tensor.view, tensor.contiguous, dtype=tensor.dtype)
    other.origin, other.region, other.made, other.time = tensor.origin, tensor.region, tensor.made, tensor.time
    return other


def _keeps_values(m: Trace, tensor: Tensor, form: str, written: Written) -> bool:
    """Return whether a tensor is given its own values: ``x.copy_(x.data)``, ``y[i] = x[i]`` where ``y`` is ``x``."""
    if form == "subscript" and written.index is not None and len(written.values) == 1:
        value = array_backing(m.see(written.values[0]))
        changed = any(event.tensor is value for event in m.state[WRITES].get(tensor.storage, ()))  # `x[i] = f_(x[i])`
        same = not changed and _is_at(m, value, tensor, written.index)
        return same or _chooses_its_own(m, value, tensor, written.index)
    if written.op.removeprefix("_foreach_") != "copy_" or tensor.view is not View.NONE:
        return False
    given = [source for value in written.values for source in tensors_in(m, value)]
    return any(each.storage.memory is tensor.storage.memory and each.view is View.NONE for each in given)


def _chooses_its_own(m: Trace, value: Value, tensor: Tensor, index: tuple[Value, ...]) -> bool:
    """Whether a value is one of two, element by element, that a tensor has at an index: ``torch.min(x[i], x[i])``."""
    made = value.made if isinstance(value, Tensor) else None
    if made is None or made.op not in _ONE_OF_TWO or len(made.values) != 2:
        return False
    changed = any(since(m, each, made.time) for each in (tensor, value) if isinstance(each, Tensor))
    return not changed and all(_is_at(m, m.see(operand), tensor, index) for operand in made.values)


def _is_at(m: Trace, value: Value, tensor: Tensor, index: tuple[Value, ...]) -> bool:
    """Whether a value is the elements that a tensor has at an index: a view, or a copy that is still the same."""
    if not isinstance(value, Tensor):
        return False
    region, made = value.region, value.made
    if region is not None and value.storage is tensor.storage:
        return not region.reshaped and same_tensor(region.base, tensor) and plain(region.index) == plain(index)
    if made is None or made.op != "index" or made.values != (tensor, *index):
        return False
    return not any(since(m, each, made.time) for each in (tensor, value))


@events.accumulate.listen
def log_accumulation(m: Trace, gradient: Tensor, op: str, site: Site) -> None:
    """Log that autograd overwrites a gradient."""
    if m.stack.frames:
        before, inner = m.state[WRITES].get(gradient.storage, ()), m.stack.frames[-1]
        frames, guard, written = tuple(m.stack.frames), m.state.guard(), Written(op)
        event = Overwrite(
            gradient,
            "accumulate",
            site,
            m.tick(),
            frames,
            "",
            False,
            inner.line,
            guard,
            False,
            Change.OTHER,
            written,
            gradient.storage,
        )
        m.note_way(site)
        m.state.set(m.state[WRITES], gradient.storage, (*before[1 - EVENTS :], event))


@events.write_array.listen
def log_array_write(m: Trace, array: Array, form: str, site: Site, written: Written) -> None:
    """Log a write to a numpy array."""
    log_write(m, array.tensor, form, site, written)


def _change(m: Trace, tensor: Tensor, frame: Frame, through: Sequence[Value], form: str, written: Written) -> Change:
    """Return what the new values are computed from.

    A write ``through`` no variable of the tensor, and no attribute that the function has bound, is `Change.OTHER`: it
    is intended to change a container.
    """
    if written.op.removesuffix("_") in _MASKS or not any(_holds(m, array_backing(value), tensor) for value in through):
        return Change.OTHER
    if _moves_element(m, tensor, written):
        return Change.OTHER
    values = (*written.values, *(written.index or ()))
    sources = [source for value in values for source in _sources(m, value, tensor)]
    numbers = [
        m.tensors[value] for value in map(m.see, written.values) if type(value) is Unknown and value in m.tensors
    ]
    computed = [source for number in numbers for source in _sources(m, number, tensor)]  # ``x -= x.mean()`` of an array
    own = [source for source in (*sources, *computed) if _holds(m, source, tensor)]
    others = [source for source in sources if source not in own]
    unknown = any(isinstance(other, Unknown) for other in others)
    rest = [other for other in others if isinstance(other, Tensor)]
    if not unknown and _constant(m, rest, frame):
        return Change.SHIFTED if not own and _only_adds(form, written) else Change.CONVERTED
    return Change.MARKED if m.grad(tensor) is Grad.NO and _marks(written) else Change.OTHER


def _moves_element(m: Trace, tensor: Tensor, written: Written) -> bool:
    """Whether one element is given the value of another one, as the code of a heap or tree does: ``a[i] = a[j]``."""
    if written.op != "setitem" or written.index is None or not _takes_element(m, written.index):
        return False
    values = [array_backing(m.see(value)) for value in written.values]
    taken = [m.tensors.get(value, value) if type(value) is Unknown else value for value in values]
    return bool(taken) and all(_is_element(m, value, tensor) for value in taken)


def _takes_element(m: Trace, index: Sequence[Value]) -> bool:
    options = [each.options if isinstance(each, Choice) else ((ALWAYS, each),) for each in map(m.see, index)]
    return bool(options) and all(is_number(option) for each in options for _, option in each)


def _is_element(m: Trace, value: Value, tensor: Tensor) -> bool:
    """Whether a value is an element of a tensor: a view, or what was taken out of it at an index of several options."""
    made = value.made if isinstance(value, Tensor) and value.storage is not tensor.storage else None
    if made is None or made.op != "index":
        return _holds(m, value, tensor)
    return _holds(m, array_backing(m.see(made.values[0])), tensor) and _takes_element(m, made.values[1:])


def _sources(m: Trace, value: Value, tensor: Tensor, depth: int = DEPTH) -> Iterator[Value]:
    """The tensors, and what may be some, that a value was computed from; what is only made is one itself.

    Where ``tensor`` comes from is not asked, and ``torch.tensor`` of numbers is a number.
    """
    value = array_backing(m.see(value))
    if isinstance(value, Tuple):
        for item in value.items:
            yield from _sources(m, item, tensor, depth)
    elif isinstance(value, Choice) or (isinstance(value, Unknown) and not value.scalar):
        yield value
    elif isinstance(value, Tensor):
        base = base_of(value)
        made = base.made if base.origin is not Source.BLANK and value.storage is not tensor.storage else None
        operands = made.values if made is not None and depth else ()
        found = [source for operand in operands for source in _sources(m, operand, tensor, depth - 1)]
        number = made is not None and made.op in ("tensor", "as_tensor")
        yield from found or ([] if number else [value])


def _constant(m: Trace, values: list[Tensor], frame: Frame) -> bool:
    """Return whether tensors are constants, and no arguments of the function: mean and deviation of a dataset.

    What is made empty and then written to is none.
    """
    given = (
        [tensor.storage for value in frame.arguments() for tensor in given_tensors(m, value, NONE)] if values else []
    )
    made = all(value.origin is Source.BLANK and not m.grad(value) for value in values)
    return made and not any(value.storage in given or value.storage in m.state[WRITES] for value in values)


def _only_adds(form: str, written: Written) -> bool:
    """Return whether a write only assigns elements or adds to the old values; with ``+=``, only whole numbers."""
    op = written.op.removesuffix("_")
    if op == "setitem" or written.op in FILLING:
        return True
    fraction = any(type(number := constant(value)) is float and number % 1 for value in written.values)
    return op in ADDING and not (form == "augmented" and fraction)  # counters count in whole numbers


def _marks(written: Written) -> bool:
    """Return whether a write assigns a number under a mask: ``x[mask] = number``, ``x.masked_fill_(mask, number)``."""
    if written.op != "setitem" or written.index is None:
        return written.op == "masked_fill_"
    number = all(is_number(value) or isinstance(value, Object) for value in written.values)
    masks = [index for index in written.index if not takes_all(index)]
    return number and len(masks) == 1 and _is_mask(masks[0])


def _is_mask(index: Value) -> bool:
    return isinstance(index, (Tensor, Unknown, Choice)) and not is_number(index) and not isinstance(index, Slice)


def _holds(m: Trace, value: Value, tensor: Tensor) -> bool:
    """Return whether a value is, or may be, an alias of a tensor."""
    options = [option for _, option in value.options] if isinstance(value, Choice) else [value]
    return any(isinstance(option, Tensor) and option.storage is tensor.storage for option in options)
