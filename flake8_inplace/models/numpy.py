"""Functions and methods of numpy, by its table, and packages that compute no tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..heap.regions import items_of, origins
from ..heap.values import (
    NONE,
    Array,
    Choice,
    Const,
    Dict,
    List,
    Object,
    Ref,
    Slice,
    Tensor,
    Tuple,
    Unknown,
    Value,
    constant,
    is_number,
)
from ..program.site import Site
from ..torchfacts import arrays as facts
from ..torchfacts.kinds import plain
from ..trace.log import STORED
from ..trace.trace import Trace
from . import array_types, arrays, frames, iteration, tensors
from .registry import Call, model, package

_ARRAY = "numpy.ndarray"
_FILLING = {"copyto": "copy_", "fill": "fill_"}
"""Functions that replace all values, by the names that torch has for them."""
_READING = frozenset({"load", "loadtxt", "genfromtxt", "fromiter", "memmap"})
"""Functions that return an array, whatever they are given."""
_TRANSPOSING = frozenset({"transpose", "permute_dims", "movedim", "rollaxis", "matrix_transpose"})
_COMPARING = frozenset({"allclose", "isclose", "array_equal", "array_equiv"})


def array_method(call: Call, value: Array) -> Value:
    """Call a method of an array."""
    m = call.m
    if call.name in ("to_numpy", "__array__"):
        return _plain(call, value)
    if (frame := frames.method(m, value, call.name)) is not None:
        return frame
    row = facts.lookup(f"{_ARRAY}.{call.name}")
    if row is None:
        return _into(call) or _reduced(call, value, *call.args)
    copies = row.name != "astype" or constant(call.kwargs.get("copy", NONE)) is not False
    if not copies and _has_type(m, value, call.argument(0, "dtype")):
        return value
    given = Call(m, call.name, [value, *call.args], call.kwargs, call.site)
    made = _perform(given, row) if copies else None
    return made if made is not None else Unknown(scalar=True)


def _plain(call: Call, value: Array) -> Value:
    """Return the array that a frame or column is kept in, unless it has to be another one."""
    dtype = call.argument(0, "dtype")
    copies = constant(call.argument(1, "copy")) is True or (dtype != NONE and not _has_type(call.m, value, dtype))
    if copies:
        return arrays.new(call.m, "copy", (value,), value.tensor.dims)
    return frames.values(call.m, value) if frames.is_over(value.tensor) else value


def _reduced(call: Call, *values: Value) -> Value:
    """Return what a function makes of arrays that numbers are made of too."""
    last = call.name.rpartition(".")[2]
    return arrays.computed(call.m, last, values) if last in facts.PROVING else Unknown(scalar=True)


def method_of_number(call: Call, receiver: Value) -> Value:
    """Call a method of a number, or of what it proves to be an array."""
    proves = call.name in facts.PROVING or call.name in facts.writing_methods()
    array = arrays.proven(call.m, receiver) if proves else None
    return array_method(call, array) if array is not None else _into(call) or Unknown(scalar=True)


def _perform(call: Call, row: facts.Row) -> Value | None:
    """Do what a row of the table says: overwrite arguments, and return an array."""
    m, bound = call.m, _bind(call, row)
    if bound is None:
        return None
    for name in row.writes:
        array = arrays.proven(m, bound.get(name, NONE))
        if array is not None:
            others = [value for other, value in bound.items() if other != name]
            masked = row.name == "copyto" and "where" in bound
            op = row.name if masked else _FILLING.get(row.name, row.name)
            arrays.write(m, array, "op_", call.site, op, *others)
    if (made := _into(call)) is not None:
        return made
    out = arrays.proven(m, bound.get("out", NONE))
    if out is not None:
        _overwrite(call, out, [value for name, value in bound.items() if name != "out"])
        return out
    return _result(m, row, bound, call.site) or (NONE if row.writes else None)


def _bind(call: Call, row: facts.Row) -> dict[str, Value] | None:
    """Return the arguments by the names of their parameters; None if there is none."""
    args = call.args
    if row.name == "reshape" and len(args) > 2 and call.name == "reshape":  # the method takes sizes one by one
        args = [args[0], Tuple(tuple(args[1:]))]
    bound = dict(zip(row.params, args, strict=False)) | call.kwargs
    return bound if bound or not row.params else None


def _into(call: Call) -> Value | None:
    """Write the result of any function of numpy into the array that it is given as ``out=``."""
    out = call.m.see(call.kwargs.get("out", NONE))
    if isinstance(out, Tuple) and len(out.items) == 1:
        out = call.m.see(out.items[0])
    array = arrays.proven(call.m, out)
    if array is None:
        return None
    _overwrite(call, array, [value for name, value in call.kwargs.items() if name != "out"] + call.args)
    return array


def _overwrite(call: Call, out: Array, values: list[Value]) -> None:
    """Overwrite an array with what a function makes of ``values``, which may be computed from it."""
    given = [array.tensor for value in values if (array := arrays.known(call.m, value)) is not None]
    sources = [*given, *(operand for tensor in given for _, operand in origins(tensor))]
    own = any(isinstance(source, Tensor) and source.storage is out.tensor.storage for source in sources)
    last = call.name.rpartition(".")[2]
    masked = "where" in call.kwargs
    arrays.write(call.m, out, "op_" if own or masked else "out", call.site, last if own or masked else "copy_", *values)


def _result(m: Trace, row: facts.Row, bound: dict[str, Value], site: Site) -> Value | None:
    if row.result in ("fresh", "like", "blank"):
        return _new(m, row, bound, site)
    if row.result == "sized":
        return _sized(m, row, bound)
    array = arrays.proven(m, bound.get(row.of, NONE)) if row.of else None
    if array is None:
        return None
    dims = array.tensor.dims
    if row.result == "same":
        return array
    if row.result == "views":
        return _split(m, row, array, bound)
    if plain(row.name) in _TRANSPOSING:
        return arrays.transposed(m, array)
    if row.result == "maybe":
        return arrays.reshaped(m, array, _shaped(m, row, bound)) if array.tensor.contiguous else _copy(m, row, bound)
    return arrays.view(m, array, {"expand_dims": dims + 1, "diagonal": dims - 1}.get(row.name) if dims else None)


def _copy(m: Trace, row: facts.Row, bound: dict[str, Value]) -> Array:
    return arrays.new(m, row.name, tuple(bound.values()), _shaped(m, row, bound))


def _shaped(m: Trace, row: facts.Row, bound: dict[str, Value]) -> int | None:
    """Return the number of dimensions that an array is reshaped to."""
    if row.name == "ravel":
        return 1
    return _length(m, bound["shape"]) if row.name == "reshape" and "shape" in bound else None


def _length(m: Trace, shape: Value) -> int | None:
    """Return the number of dimensions of a shape."""
    shape = m.see(shape)
    if isinstance(shape, Tuple):
        return len(shape.items)
    if isinstance(shape, List) and not m.state.get(shape).open:
        return len(m.state.get(shape).items)
    return 1 if isinstance(shape, Const) and isinstance(shape.value, int) else None


def _new(m: Trace, row: facts.Row, bound: dict[str, Value], site: Site) -> Value | None:
    """Return a new array. What is computed of numbers alone may be a number."""
    values = tuple(bound.values())
    given = [array for value in values if (array := _known(m, value)) is not None]
    if row.result == "blank" and "shape" in bound:
        return arrays.new(m, row.name, values, _length(m, bound["shape"]), blank=True)
    if row.name in ("arange", "linspace", "logspace", "geomspace", "eye", "identity"):
        return arrays.new(m, row.name, values, 2 if row.name in ("eye", "identity") else 1)
    if row.name in _READING:
        return arrays.new(m, row.name, values)
    holds = any(isinstance(m.see(value), (List, Tuple)) for value in values)
    if not given and not (holds and row.name not in facts.UFUNCS):
        return None
    arrays.relate(m, row.name, given, site)
    alike = row.result in ("like", "blank") or row.name in facts.UFUNCS
    return arrays.new(m, row.name, values, arrays.max_dims(given) if alike else None, blank=row.result == "blank")


def _sized(m: Trace, row: facts.Row, bound: dict[str, Value]) -> Array | None:
    """Return the array of a given size that a function makes. Without a size it returns a number."""
    if row.params[0] == "d0":
        return arrays.new(m, row.name, tuple(bound.values()), len(bound))
    size = bound.get("size", NONE)
    return arrays.new(m, row.name, tuple(bound.values()), _length(m, size)) if m.see(size) != NONE else None


def _known(m: Trace, value: Value) -> Array | None:
    value = m.see(value)
    return value if isinstance(value, Array) else None


def _split(m: Trace, row: facts.Row, array: Array, bound: dict[str, Value]) -> Value:
    """Return the parts of an array: each is a view of other elements."""
    parts = m.see(bound.get("indices_or_sections", NONE))
    count = parts.value if isinstance(parts, Const) and type(parts.value) is int else 0
    dims = array.tensor.dims if row.name != "unstack" else None
    if not 0 < count <= iteration.UNROLL_OTHERS:
        return List([arrays.view(m, array, dims) for _ in range(2)], open=True)
    return List([arrays.view(m, array, dims) for _ in range(count)])


@model("numpy.array", "numpy.asarray", "numpy.asanyarray", "numpy.ascontiguousarray", "numpy.asarray_chkfinite")
@model("numpy.require", "numpy.from_dlpack")
def _array(call: Call) -> Value | None:
    """An array of anything: the argument itself, or the memory of a tensor, unless it has to be a copy."""
    if not call.args:
        return None
    m, given, copy = call.m, call.seen(0), call.kwargs.get("copy", NONE)
    if _may_be_array(m, given):
        return _of_each(call, _array)
    copies = constant(copy) is True or (call.name == "numpy.array" and constant(copy) is not False and copy == NONE)
    if len(call.args) > 1 or "dtype" in call.kwargs:
        copies = copies or isinstance(given, Tensor) or not _has_type(m, given, call.argument(1, "dtype"))
    dims = given.dims if isinstance(given, Tensor) else given.tensor.dims if isinstance(given, Array) else None
    if isinstance(given, Array) and not copies:
        return frames.values(m, given) if frames.is_frame(given) else given
    if isinstance(given, Tensor) and not copies:
        return arrays.of_tensor(m, given)
    if isinstance(given, (Array, Tensor)):
        return arrays.new(m, "array", (given, *call.args[1:], *call.kwargs.values()), dims)
    _read(call)
    if isinstance(given, (List, Tuple)):
        return arrays.new(m, "array", (given, *call.args[1:], *call.kwargs.values()), _depth(m, given))
    return arrays.new(m, "array", (given,)) if call.name == "numpy.array" and copies else None


def _has_type(m: Trace, given: Value, dtype: Value) -> bool:
    """Whether an array surely has elements of a type already: a conversion to it copies nothing."""
    wanted = array_types.named(m, dtype)
    return bool(wanted) and isinstance(given, Array) and array_types.of(m, given.tensor) == wanted


def _depth(m: Trace, value: Value) -> int | None:
    """Return how deep numbers are nested in lists, as far as the first elements show it."""
    value = m.see(value)
    if isinstance(value, Array):
        return value.tensor.dims
    if isinstance(value, (List, Tuple)):
        items = value.items if isinstance(value, Tuple) else m.state.get(value).items
        inner = _depth(m, items[0]) if items else None
        return None if inner is None else inner + 1
    return 0 if is_number(value) else None


@model("builtins.memoryview")
def _memory_view(call: Call) -> Value | None:
    """A ``memoryview`` is another name for the memory that it is made of."""
    given = call.seen(0) if call.args else NONE
    return given if isinstance(given, (Array, *_BUFFERS)) else None


_BUFFERS = (Object, Unknown)
"""What may have memory for an array: ``bytearray(8)``, or an instance of an unknown class, ``RawArray("f", 2)``."""


@model("numpy.frombuffer")
def _from_buffer(call: Call) -> Value | None:
    return arrays.over(call.m, call.seen(0)) if call.args and isinstance(call.seen(0), _BUFFERS) else None


@model("torch.frombuffer")
def _tensor_from_buffer(call: Call) -> Value | None:
    given = call.seen(0) if call.args else call.m.see(call.kwargs.get("buffer", NONE))
    return arrays.to_tensor(call.m, arrays.over(call.m, given)) if isinstance(given, _BUFFERS) else None


@model("torch.from_numpy", "torch.from_dlpack", "torch.utils.dlpack.from_dlpack")
def _shared(call: Call) -> Value | None:
    """A tensor over memory that something else holds too."""
    if not call.args:
        return None
    m, given = call.m, call.seen(0)
    if _may_be_array(m, given):
        return _of_each(call, _shared)
    if isinstance(given, Tensor):
        return tensors.data(m, given)
    array = arrays.proven(m, given)
    if array is None and isinstance(given, Unknown):
        array = arrays.over(m, given)
        if given.scalar:  # no argument, which might be a tensor on another path
            m.state.set(m.state.store, given, array)
    return arrays.to_tensor(m, array) if array is not None else tensors.unknown_call(m, *call.values)


@model("torch.to_dlpack", "torch.utils.dlpack.to_dlpack")
def _capsule(call: Call) -> Value | None:
    """Return a capsule, as the tensor over the same memory that can be made of it."""
    return tensors.data(call.m, given) if call.args and isinstance(given := call.seen(0), Tensor) else None


@model("torch.as_tensor", "torch.asarray")
def _as_tensor(call: Call) -> Value | None:
    """A tensor over the memory of an array, or a tensor itself, unless it has to be of another type."""
    given = call.seen(0) if call.args else NONE
    if _may_be_array(call.m, given):
        return _of_each(call, _as_tensor)
    if isinstance(given, Tensor) and len(call.args) == 1 and not call.kwargs:
        return given
    if not isinstance(given, Array) or len(call.args) > 2 or "device" in call.kwargs:
        return None
    if (len(call.args) > 1 or "dtype" in call.kwargs) and not _has_type(call.m, given, call.argument(1, "dtype")):
        return None
    return arrays.to_tensor(call.m, given) if constant(call.kwargs.get("copy", NONE)) is not True else None


@model("numpy.nan_to_num")
def _nan_to_num(call: Call) -> Value | None:
    """With ``copy=False`` it writes in place."""
    array = arrays.proven(call.m, call.argument(0, "x"))
    if array is None or constant(call.argument(1, "copy")) is not False:
        return None
    arrays.write(call.m, array, "op_", call.site, "nan_to_num")
    return array


@model("pandas.DataFrame")
def _frame(call: Call) -> Value:
    """A frame. Whether it shares the memory of an array that it is made of depends on the release of pandas."""
    m, data = call.m, call.m.see(call.argument(0, "data"))
    _read(call)
    columns = list(m.state.get(data).items.values()) if isinstance(data, Dict) else []
    block = (isinstance(data, Array) and not frames.is_over(data.tensor)) or (
        bool(columns) and all(frames.is_one_type(m, column) for column in columns)
    )
    return frames.make(m, frames.BLOCK if block else frames.COLUMNS, data)


@model("pandas.read_csv", "pandas.read_parquet", "pandas.read_excel", "pandas.read_table", "pandas.concat")
@model("pandas.read_json", "pandas.read_feather", "pandas.read_hdf", "pandas.read_sql", "pandas.merge")
def _frame_of_columns(call: Call) -> Value:
    _read(call)
    return frames.make(call.m, frames.COLUMNS)


@model("pandas.Series")
def _series(call: Call) -> Value:
    _read(call)
    return frames.make(call.m, frames.SERIES)


@model("numpy.nditer")
def _iterate(call: Call) -> Value | None:
    """An iterator over the elements of an array: each is an array of its own, with no dimension."""
    array = arrays.proven(call.m, call.argument(0, "op"))
    return List(_cells(call.m, array), open=True) if array is not None else None


def _cells(m: Trace, array: Array) -> list[Value]:
    return [arrays.view(m, array, None) for _ in range(2)]


@model("numpy.random.default_rng", "numpy.random.Generator")
def _generator(call: Call) -> Value:
    return Ref("numpy.random.Generator")  # its methods are those of the class


@model("numpy.random.RandomState")
def _random_state(call: Call) -> Value:
    return Ref("numpy.random.RandomState")


@package("numpy", "math", "random", "os", "time", "pandas", "logging", "json", "re")
def _no_tensor(call: Call) -> Value:
    """By the table of numpy, or a number. An argument that is one of several arrays is taken as each of them."""
    if any(_may_be_array(call.m, value) for value in call.args):
        return call.m.split(call.args, lambda values: _no_tensor(replace(call, args=values)))
    _read(call)
    row = facts.lookup(call.name)
    made = _perform(call, row) if row is not None else _into(call)
    if made is None and call.name.rpartition(".")[2] in _COMPARING:
        given = [array for value in call.args if (array := _known(call.m, value)) is not None]
        arrays.relate(call.m, call.name.rpartition(".")[2], given, call.site)
    if made is None and any(isinstance(call.m.see(value), Array) for value in call.args):
        return _reduced(call, *call.args)
    return made if made is not None else Unknown(scalar=True)


def _of_each(call: Call, model: Callable[[Call], Value | None]) -> Value:
    """Run a model for each of the arrays that its argument may be."""

    def one(values: list[Value]) -> Value:
        made = model(replace(call, args=values))
        return made if made is not None else tensors.unknown_call(call.m, *values)

    return call.m.split(call.args, one)


def _may_be_array(m: Trace, value: Value) -> bool:
    value = m.see(value)
    return isinstance(value, Choice) and any(isinstance(m.see(option), Array) for _, option in value.options)


def _read(call: Call) -> None:
    """Read the elements of the lists among the arguments: ``np.stack(arrays)``."""
    for arg in map(call.m.see, call.args) if call.m.state[STORED] else ():
        if isinstance(arg, List):
            iteration.elements(call.m, arg)


def index_array(m: Trace, value: Value, index: Value, site: Site) -> Value:
    """Return ``value[index]`` for an array, or for a number whose index proves it to be one."""
    slices = any(isinstance(m.see(item), Slice) or m.see(item) in (NONE, Const(...)) for item in items_of(m.see(index)))
    array = arrays.proven(m, value) if slices else None
    return arrays.subscript(m, array, index, site) if array is not None else Unknown(scalar=True)
