"""Frames of pandas: the columns of one, and the arrays that share its memory.

A frame is an array whose rows are its columns. Its type tells whether it is one block of memory, as all columns of one
type are. If not, ``values`` makes a copy, but that of a column is still its memory.
"""

from __future__ import annotations

from ..heap.regions import base_of
from ..heap.values import NONE, Array, Const, List, Origin, Region, Slice, Tensor, Tuple, Value, constant
from ..trace.trace import Trace
from . import tensors

BLOCK, COLUMNS, SERIES = "pandas block", "pandas columns", "pandas series"
"""The operators that are said to have made frames of one type, frames of any types, and single columns."""
_LABELS, _PLACES = frozenset({"loc", "at"}), frozenset({"iloc", "iat"})
_DESCRIBING = frozenset({"columns", "index", "dtypes", "empty", "axes", "name"})
_COPYING = frozenset(
    "copy dropna fillna sort_values sort_index reset_index set_index drop rename sample astype query assign merge join "
    "drop_duplicates replace reindex interpolate ffill bfill".split()
)
"""Methods of frames that return another frame."""
_ALL = Slice(NONE, NONE, NONE)


def make(m: Trace, kind: str, *values: Value) -> Array:
    """Return a frame or column with memory of its own."""
    made = tensors.fresh()
    made.storage.numpy = True
    made.dims = 1 if kind == SERIES else 2
    made.made = Origin(kind, values, m.clock)
    return Array(made)


def is_over(tensor: Tensor) -> bool:
    """Whether a frame, or a column, has the memory of a tensor."""
    made = base_of(tensor).made
    if made is not None and made.op == "detach":  # the array of one
        made = base_of(made.values[0]).made if isinstance(made.values[0], Tensor) else None
    return made is not None and made.op in (BLOCK, COLUMNS, SERIES)


def is_frame(array: Array) -> bool:
    made = array.tensor.made
    return array.tensor.region is None and made is not None and made.op in (BLOCK, COLUMNS)


def is_assigned(tensor: Tensor) -> bool:
    """Whether a write to a tensor is one to a frame or column itself, which pandas makes in place."""
    return tensor.made is None or tensor.made.op != "detach"


def attribute(m: Trace, array: Array, name: str) -> Value | None:
    """Read an attribute that frames and columns have, and arrays have not."""
    if name in _DESCRIBING:
        return m.symbol(array.tensor, name, scalar=True)
    if name in _LABELS | _PLACES:  # which select rows first
        return _view(m, array, (_ALL,) if name in _LABELS else (_ALL, _ALL)) if is_frame(array) else array
    return values(m, array) if name == "values" else None


def values(m: Trace, array: Array) -> Array:
    """Return the array that a frame or column is kept in, or a copy of it."""
    if is_frame(array):
        made = array.tensor.made
        if made is None or made.op == COLUMNS or (array.tensor, "replaced") in m.state.store:
            copy = make(m, "copy", array)
            copy.tensor.dims = 2
            return copy
    shared = tensors.detached(m, array.tensor)
    shared.dims = array.tensor.dims
    return Array(shared)


def method(m: Trace, array: Array, name: str) -> Array | None:
    """Return the frame that a method of a frame makes."""
    return make(m, COLUMNS, array) if name in _COPYING and is_frame(array) else None


def column(m: Trace, array: Array, name: Value) -> Array:
    """Return the column of a frame."""
    found = m.state.store.get((array.tensor, name))
    if found is None and m.state.store.get((array.tensor, "replaced")) == NONE:  # one that is not known
        return make(m, SERIES)
    return found if isinstance(found, Array) else _view(m, array, (name,), 1)


def subscript(m: Trace, array: Array, index: Value) -> Array | None:
    """Return what a frame has under a name, or some of its rows or columns; None if its index is not known."""
    if type(constant(index)) is str:
        return column(m, array, index)
    return make(m, COLUMNS, array) if isinstance(index, (Array, List, Slice, Tensor)) else None


def assign(m: Trace, array: Array, index: Value) -> bool:
    """Make an assignment that overwrites nothing: it replaces a column, ``df["x"] = ...``, or may add a row."""
    if is_frame(array) and not isinstance(index, (Array, Slice)):
        name = index if type(constant(index)) is str else NONE
        if name != NONE:
            m.state.set(m.state.store, (array.tensor, name), make(m, SERIES))
        if m.state.store.get((array.tensor, "replaced")) != NONE:
            m.state.set(m.state.store, (array.tensor, "replaced"), name)
        return True
    rows = index.items[0] if isinstance(index, Tuple) and index.items else index
    labels = _indexed(array) is not None and array.tensor.region is not None and len(array.tensor.region.index) == 1
    return labels and not isinstance(m.see(rows), (Array, Slice))


def part(m: Trace, array: Array, index: Value) -> tuple[Array, Value]:
    """Return the column that ``df.loc[rows, "x"]`` is a part of, and the rows; else the array and the index."""
    frame = _indexed(array)
    both = index.items if frame is not None and isinstance(index, Tuple) else ()
    if frame is None or len(both) != 2 or type(constant(both[1])) is not str:
        return array, index
    return column(m, frame, both[1]), both[0]


def _indexed(array: Array) -> Array | None:
    """Return the frame that ``loc`` or ``iloc`` is of."""
    region = array.tensor.region
    frame = Array(region.base) if region is not None and set(region.index) == {_ALL} else None
    return frame if frame is not None and is_frame(frame) else None


def is_one_type(m: Trace, given: Value) -> bool:
    """Whether a dictionary or list of columns has numbers with a fraction alone."""
    given = m.see(given)
    if isinstance(given, (List, Tuple)):
        items = given.items if isinstance(given, Tuple) else m.state.get(given).items
        return bool(items) and all(is_one_type(m, item) for item in items)
    return isinstance(given, Const) and type(given.value) is float


def _view(m: Trace, array: Array, index: tuple[Value, ...], dims: int | None = None) -> Array:
    made = tensors.view(m, array.tensor)
    made.dims = dims or array.tensor.dims
    made.region = Region(array.tensor, index, m.clock)
    return Array(made)
