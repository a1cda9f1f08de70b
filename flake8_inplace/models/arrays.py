"""Arrays of numpy: what is made of them, and what overwrites them."""

from __future__ import annotations

from collections.abc import Sequence

from ..heap.regions import base_of, items_of
from ..heap.state import Declared, latest
from ..heap.values import (
    NONE,
    Array,
    Cell,
    Const,
    Grad,
    Origin,
    Region,
    Slice,
    Source,
    Tensor,
    Unknown,
    Value,
    View,
    constant,
    is_number,
)
from ..program.site import Site
from ..torchfacts import arrays as facts
from ..torchfacts import kinds
from ..trace import events
from ..trace.callables import Method
from ..trace.log import Written, array_backing
from ..trace.trace import Trace
from . import frames, indexing, tensors
from .parts import is_shared_row

_RELATING = kinds.ADDING | kinds.EQUATING | {"mul", "dot", "vdot"}
"""Functions that say nothing, or little, of an array and itself."""
_EVERY = (Const(...),)
_READ = frozenset({"load", "fromfile"})
"""Functions that may return several arrays by their names."""
INDEXED: Declared[Tensor, int] = Declared(latest)
"""By how many indices at once an array was accessed: it has no fewer dimensions."""


def of_tensor(m: Trace, tensor: Tensor) -> Array:
    """Return ``tensor.numpy()``: the same memory, without the history."""
    if tensor.view is not View.NONE and m.grad(tensor) is Grad.NO:
        return Array(tensor)
    shared = tensors.detached(m, tensor)
    shared.cell, shared.dims = Cell(base=tensor.cell.base), tensor.dims
    return Array(shared)


def to_tensor(m: Trace, array: Array) -> Tensor:
    """Return ``torch.from_numpy(array)``, which has a version counter of its own.

    Memory that numpy made has none, so all tensors over it are given one.
    """
    base = array.tensor
    storage = base.storage if base.storage.numpy else tensors.uncounted(m, base.storage)
    result = Tensor(storage, Cell(), base.view, base.contiguous, base.dims)
    result.origin, result.time, result.region, result.made = base.origin, m.tick(), base.region, base.made
    return result


def new(m: Trace, op: str, values: tuple[Value, ...], dims: int | None = None, blank: bool = False) -> Array:
    """Return an array with memory of its own."""
    made = tensors.fresh()
    made.storage.numpy = True
    made.dims, made.origin = dims, Source.BLANK if blank else Source.COMPUTED
    made.made = Origin(kinds.plain(op), tuple(array_backing(m.see(value)) for value in values), m.clock)
    return Array(made)


def computed(m: Trace, op: str, values: tuple[Value, ...]) -> Unknown:
    """Return what may be a number or an array of its own: the mean of an array, over all of it or along an axis."""
    number = Unknown(scalar=True)
    m.tensors[number] = new(m, op, values).tensor
    return number


def over(m: Trace, memory: Value) -> Array:
    """Return the array over memory that something else made: the argument of ``np.frombuffer``."""
    tensor = m.promote(m.symbol("memory", memory))
    assert isinstance(tensor, Tensor)
    tensor.storage.numpy = True
    return Array(tensor)


def known(m: Trace, value: Value) -> Array | None:
    """Return the array that a value is, also if a tensor over its memory is all that is known of it."""
    value = m.see(value)
    if isinstance(value, Array):
        return value
    memory = m.see(m.symbols.get(("memory", value), NONE)) if isinstance(value, Unknown) else NONE
    return Array(memory) if isinstance(memory, Tensor) else None


def proven(m: Trace, value: Value) -> Array | None:
    """Return the array that the use of a value proves it to be: ``row`` of ``row[2:]``, if ``row`` is ``table[i]``.

    What is taken out of an array with an unknown number of dimensions may be a number.
    """
    value = m.see(value)
    if (array := known(m, value)) is not None:
        return array
    part = m.tensors.get(value) if isinstance(value, Unknown) and value.scalar else None
    if part is None:
        return None
    array = Array(part)
    m.state.set(m.state.store, value, array)
    return array


def view(m: Trace, array: Array, dims: int | None, region: Region | None = None, contiguous: bool = True) -> Array:
    """Return a view of an array."""
    part = tensors.view(m, array.tensor, contiguous=contiguous)
    part.dims, part.region = dims, region
    return Array(part)


def reshaped(m: Trace, array: Array, dims: int | None) -> Array:
    """Return a view of all elements of an array, in another shape."""
    return view(m, array, dims, Region(array.tensor, _EVERY, m.clock, reshaped=True))


def transposed(m: Trace, array: Array) -> Array:
    """Return a view of all elements of an array, with its dimensions in another order."""
    region = array.tensor.region or Region(array.tensor, _EVERY, m.clock)
    return view(m, array, array.tensor.dims, region, contiguous=False)


def attribute(m: Trace, array: Array, name: str, site: Site) -> Value:
    """Read an attribute of an array."""
    if name in ("T", "mT"):
        return transposed(m, array)
    if name == "flat":
        return reshaped(m, array, 1)
    if frames.is_over(array.tensor) and (found := frames.attribute(m, array, name)) is not None:
        return found
    if name in ("real", "imag"):
        return view(m, array, array.tensor.dims)
    if name in facts.METADATA:
        return m.symbol(array.tensor, name, scalar=True)
    return Method(array, name, site.node)


def subscript(m: Trace, array: Array, index: Value, site: Site) -> Value:
    """Return ``array[index]``: a view, a copy where the index is a list or an array, or a number."""
    index = m.see(index)
    items = [m.see(item) for item in items_of(index)]
    if frames.is_frame(array):
        return frames.subscript(m, array, index) or Unknown(scalar=True)
    if type(constant(index)) is str:
        return _field(m, array, index)
    _note_dimensions(m, array.tensor, items)
    if indexing.is_advanced(m, index):
        sure = all(not isinstance(item, Unknown) or is_number(item) for item in items)
        return new(m, "index", (array, index)) if sure and not isinstance(index, Const) else Unknown(scalar=True)
    part = indexing.subscript(m, array.tensor, index, site)
    assert isinstance(part, Tensor)
    return _part(m, array.tensor, part, items)


def _note_dimensions(m: Trace, tensor: Tensor, items: Sequence[Value]) -> None:
    """Note how many dimensions an array has at least: ``table[1:, 0]`` shows that ``table[0]`` is no number."""
    count = sum(m.see(item) not in (NONE, Const(...)) for item in items)
    if tensor.dims is None and count > max(1, m.state[INDEXED].get(tensor, 0)):
        m.state.set(m.state[INDEXED], tensor, count)


def _field(m: Trace, array: Array, name: Value) -> Value:
    """Return a field of a structured array, or an array of a file with several.

    Fields don't overlap: each has memory of its own here, apart from that of the rows.
    """
    made = base_of(array.tensor).made
    if made is None or made.op in _READ or frames.is_over(array.tensor):
        return Unknown(scalar=True)
    return over(m, m.symbol("field", array.tensor, name))


def _part(m: Trace, whole: Tensor, part: Tensor, items: list[Value]) -> Value:
    """Return a part of an array as what it is: an array, a number, or what may be either."""
    numbers = sum(map(is_number, items))
    part.dims = None if whole.dims is None else whole.dims - numbers + items.count(NONE)
    spanned = any(isinstance(item, Slice) or item in (NONE, Const(...)) for item in items)
    if part.dims == 0 and not spanned:  # an ellipsis makes a view even of one element
        return Unknown(scalar=True)
    if part.dims is not None or spanned or numbers < m.state[INDEXED].get(whole, 0):
        return Array(part)
    element = Unknown(scalar=True)
    m.tensors[element] = part
    return element


def rows(m: Trace, array: Array, count: int = 2) -> list[Value]:
    """Return what iteration over an array yields."""
    found: list[Value] = []
    for _ in range(count):
        number = Unknown(scalar=True)
        part = tensors.view(m, array.tensor)
        part.region = Region(array.tensor, (number,), m.clock)
        found.append(_part(m, array.tensor, part, [number]))
    return found


def write(m: Trace, array: Array, form: str, site: Site, op: str, *values: Value) -> None:
    """Overwrite an array with what an operator makes of ``values``."""
    _write(m, array, form, site, op, values, None)


def assign(m: Trace, array: Array, index: Value, value: Value, site: Site, op: str = "setitem") -> None:
    """Run ``array[index] = value``, or ``array[index] += value``. numpy copies a source that overlaps its target."""
    if frames.assign(m, array, m.see(index)):
        return
    array, index = frames.part(m, array, m.see(index))
    value, items = m.see(value), items_of(index)
    _note_dimensions(m, array.tensor, items)
    if op == "setitem":
        events.assign_in_array(m, array, items, array_backing(value), site)
    _write(m, array, "subscript" if op == "setitem" else "augmented", site, op, (value,), items)


def _write(
    m: Trace, array: Array, form: str, site: Site, op: str, values: tuple[Value, ...], index: tuple[Value, ...] | None
) -> None:
    m.reports.arrays.add(site)
    if frames.is_over(array.tensor) and not (form == "subscript" and frames.is_assigned(array.tensor)):
        m.reports.frames.add(site)
    if is_shared_row(m, array.tensor):
        m.refuse("expanded", site, other=array.tensor)
    events.write(m, array.tensor.storage, "numpy", site)
    given = tuple(array_backing(m.see(value)) for value in values)
    events.write_array(m, array, form, site, Written(kinds.plain(op), given, index, array=True))


def operator(m: Trace, name: str, left: Value, right: Value, site: Site) -> Array | None:
    """Return what a binary operator makes of arrays and numbers; None if an operand is something else."""
    both = [m.see(left), m.see(right)]
    arrays = [value for value in both if isinstance(value, Array)]
    if not arrays or not all(isinstance(value, (Array, Const)) or is_number(value) for value in both):
        return None
    relate(m, name, arrays, site)
    return new(m, name, tuple(both), max_dims(arrays))


def max_dims(arrays: list[Array]) -> int | None:
    """Return the number of dimensions of what is computed element by element, if it is known."""
    dims = [array.tensor.dims for array in arrays]
    return max(d for d in dims if d is not None) if dims and None not in dims else None


def relate(m: Trace, op: str, arrays: list[Array], site: Site) -> None:
    """Emit that an operator relates two arrays."""
    op = kinds.plain(op)
    if op in _RELATING and len(arrays) == 2:
        events.relate(m, op, arrays[0].tensor, arrays[1].tensor, site)
