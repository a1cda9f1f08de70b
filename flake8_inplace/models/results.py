"""The tensors that an operator returns."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Final

from ..heap.regions import base_of, is_dense, same_tensor, span
from ..heap.values import (
    NONE,
    Bindings,
    Cell,
    Choice,
    Const,
    Dimension,
    DType,
    List,
    Origin,
    Region,
    Slice,
    Source,
    Storage,
    Tensor,
    Tuple,
    Unknown,
    Value,
    View,
    constant,
)
from ..torchfacts import kinds
from ..torchfacts import ops as facts
from ..torchfacts.notation import Out
from ..trace.holdings import tensors_in
from ..trace.trace import Trace
from . import conversions, dtypes, shapes
from .parts import take
from .tensors import detached, fresh, view

_TRANSPOSING = frozenset("transpose t permute T mT H mH movedim adjoint".split())
_RESHAPING = frozenset(
    "unsqueeze view view_as expand expand_as squeeze unflatten reshape reshape_as flatten ravel".split()
)
_PICKING = frozenset({"diagonal", "diag", "real", "imag", "unfold", "as_strided"})
"""Operators that take elements which no index takes."""
PARTS = 8
"""The most parts of a tensor that are told apart."""
_EXPANDING = frozenset({"expand", "expand_as", "broadcast_to"})
_ALL: Final = (Const(...),)
_COPYING_STRIDED = frozenset("reshape contiguous flatten reshape_as view_as_real".split())
_BLANK = frozenset(f"{name}{like}" for name in ("zeros", "ones", "empty", "full") for like in ("", "_like"))
_STRIDED = frozenset({"empty_strided", "new_empty_strided"})
_BLANK |= {f"new_{name}" for name in _BLANK} | _STRIDED
"""Operators that make memory for values that are still to come."""
_KINDS = {"views": View.MULTI_OUTPUT, "expand": View.EXPANDED}
"""Kinds of outputs in the facts that are views of another kind than the ordinary."""


def make_result(m: Trace, op: facts.Op, out: Out, operands: dict[str, list[Tensor]], bound: Bindings) -> Value:
    if op.name == "as_strided" and shapes.repeats_elements(m, bound):
        out = replace(out, kind="expand")
    if not out.many:
        return _single(m, op, out, operands, bound)
    if out.kind == "expand" and _is_one(m, bound.get(out.of or "", NONE)):
        out = replace(out, kind="view")  # there is no other that it could be expanded to
    given = operands.get(out.of or "", [])
    if len(given) > 1:  # one for each
        return List([_one_of(m, op, out, given, index, bound) for index in range(len(given))], open=True, fixed=True)
    if out.kind == "views" and given:
        return List(_parts(m, op, out, operands, bound), open=True, fixed=True)
    return List([_single(m, op, out, operands, bound), _single(m, op, out, operands, bound)], open=True, fixed=True)


def _one_of(m: Trace, op: facts.Op, out: Out, given: list[Tensor], index: int, bound: Bindings) -> Tensor:
    """The result for one of the tensors. ``meshgrid`` repeats none beside which the others are single elements."""
    others = given[:index] + given[index + 1 :]
    if out.kind == "expand" and all(map(shapes.is_one_element, others)):
        out = replace(out, kind="view")
    return _single(m, op, out, {out.of or "": [given[index]]}, bound)


def _parts(m: Trace, op: facts.Op, out: Out, operands: dict[str, list[Tensor]], bound: Bindings) -> list[Value]:
    """The parts that a tensor is divided into: all if their number is known, else two."""
    base, dim = operands[out.of or ""][0], constant(m.see(bound.get("dim", Const(0))))
    count = constant(m.see(bound.get("chunks", NONE)))
    known = isinstance(count, int) and 2 < count <= PARTS and type(count) is int
    parts = [_single(m, op, out, operands, bound) for _ in range(count if known else 2)]
    for number, part in enumerate(parts if isinstance(dim, int) else ()):
        part.region = Region(base, along(dim, _piece(m, op, base, dim, bound, number)), m.clock)
        take(m, part, base, Tuple(part.region.index))
    return list(parts)


def _piece(m: Trace, op: facts.Op, base: Tensor, dim: int, bound: Bindings, number: int) -> Value:
    """The index of one of the parts of a dimension. Where the first one ends, and others begin, is mostly a symbol."""
    if op.name == "unbind":
        return Const(number)
    size, chunks = m.see(bound.get("split_size", bound.get("split_size_or_sections", NONE))), bound.get("chunks", NONE)
    long = base.shape[dim] if base.shape is not None and -len(base.shape) <= dim < len(base.shape) else None
    if size == Const(1) or (long is not None and m.see(chunks) == Const(long)):
        return Slice(Const(number), Const(number + 1), NONE)
    given = size if size != NONE else m.see(chunks)
    bounds = [m.symbol("part", op.name, given, place, scalar=True) for place in (number, number + 1)]
    return Slice(bounds[0] if number else NONE, bounds[1], NONE)


def _is_one(m: Trace, value: Value) -> bool:
    """Whether a sequence surely holds one tensor, and nothing else."""
    value = m.see(value)
    items, more = (value.items, False) if isinstance(value, Tuple) else ((), True)
    if isinstance(value, List):
        items, more = m.state.get(value).items, m.state.get(value).open
    return len(items) == 1 and not more and isinstance(m.see(items[0]), Tensor)


def _single(m: Trace, op: facts.Op, out: Out, operands: dict[str, list[Tensor]], bound: Bindings) -> Tensor:
    bases = operands.get(out.of or "", [])
    if out.kind == "fresh" or not bases:
        return _new(m, op, out, operands, bound)
    base = bases[0]
    if out.kind == "same":
        return base
    if out.kind == "detached":
        return detached(m, base)
    if out.kind == "unsafe":
        return Tensor(Storage(), Cell(), View.ORDINARY)
    if out.kind == "maybe":
        return _view_or_copy(m, op, out, base, bound)
    return _view(m, op, out, base, bound)


def _new(m: Trace, op: facts.Op, out: Out, operands: dict[str, list[Tensor]], bound: Bindings) -> Tensor:
    made = fresh()
    made.storage.op = op.name
    made.dtype = dtypes.of_result(m, op, out.integral, operands, bound)
    made.dims = _dims(m, op, operands, bound)
    made.shape = shapes.of_result(m, op, operands, bound, _sizes(m, bound))
    made.origin = Source.BLANK if op.name in _BLANK else Source.COMPUTED
    made.lead = _lead(m, None, bound)
    made.made = Origin(kinds.plain(op.name), tuple(map(m.see, bound.values())), m.clock)
    made.storage.inference = bool(m.state.modes.get("inference"))
    if op.name in _STRIDED and shapes.repeats_elements(m, bound):
        made.view = View.EXPANDED
    return made


def _view_or_copy(m: Trace, op: facts.Op, out: Out, base: Tensor, bound: Bindings) -> Tensor:
    """The result of ``reshape``, ``to`` and their like: a copy where that is sure."""
    wanted = DType.INTEGRAL if out.integral else dtypes.asked(m, op, bound)
    dtype = base.dtype if wanted is None else wanted
    sized = shapes.of_view(m, op, base, bound, _sizes(m, bound)) if op.name == "reshape" else None
    if (op.name in _COPYING_STRIDED and not base.contiguous) or conversions.copies(m, op, base, wanted, bound):
        copy = fresh()
        copy.dtype, copy.shape = dtype, sized
        return copy
    moves, free = conversions.only_moves(m, op, bound), op.name == "to" and not conversions.is_held(m, base)
    if free:  # whether it is copied makes no difference to anybody
        base.storage.op = op.name
    if (moves and free) or conversions.changes_nothing(m, op, base, bound):
        return base
    if op.name in _RESHAPING and is_dense(base) and conversions.is_plain(m, base_of(base)):
        return _view(m, op, out, base, bound)
    same = view(m, base, base.view)
    same.dtype = dtype
    if dtype is DType.INTEGRAL:
        same.cell = Cell()
    casts = op.name in ("to", "type", "type_as", "float") and not conversions.moves_to_cpu(m, op, bound)
    same.origin = Source.MAYBE_CAST if casts else Source.MAYBE_ALIAS
    likely = conversions.may_change_nothing(m, op, base, bound)
    here = m.here() if casts and wanted is DType.UNKNOWN else None
    if here is not None and not (likely and dtypes.names_one(m, op, bound)):
        m.reports.casts[same] = here
    if base.view is View.NONE and likely:
        same.origin = Source.MAYBE_SAME
    if moves:
        same.made = base.made
    if free:
        same.origin = base.origin
    if not moves and m.cell(base).leaf and conversions.has_type_of_data(m, base):  # no leaf, if it has another type
        same.cell = Cell(m.grad(base), leaf=False)
    converts = out.integral or dtypes.names_one(m, op, bound)
    unknown = wanted is DType.UNKNOWN and dtypes.asks(op, bound)
    if base.view is View.EXPANDED and (unknown or (converts and conversions.is_of_any_type(m, base))):
        same.view = View.ORDINARY  # a mask, say, of which there is a copy of its own then
    same.dims, same.shape = (base.dims, base.shape) if op.name not in _COPYING_STRIDED else (None, sized)
    lead = _lead(m, None, bound) if op.name == "reshape" else base.lead
    same.lead = lead if lead is Dimension.SIZE_ONE else Dimension.UNKNOWN
    return same


def _view(m: Trace, op: facts.Op, out: Out, base: Tensor, bound: Bindings) -> Tensor:
    kind = _KINDS.get(out.kind, View.ORDINARY)
    if op.name == "broadcast_tensors" and not _is_broadcast(m, base, bound):
        kind = View.ORDINARY
    if op.name in _EXPANDING and (_repeats_nothing(m, base, bound) or _may_keep_its_size(m, bound)):
        kind = View.ORDINARY
    part = view(m, base, kind, kinds.plain(op.name) not in _TRANSPOSING)
    part.region = _region(m, op, base, bound)
    if part.region is not None and op.name in ("narrow", "select"):
        take(m, part, base, Tuple(part.region.index))
    sizes = _sizes(m, bound)
    part.shape = shapes.of_view(m, op, base, bound, sizes)
    if kind is View.EXPANDED:
        part.lead = _lead(m, base, bound)
        stays = sizes and sizes[-1] in (Const(1), Const(-1))
        part.tail = Dimension.EXPANDED if _is_size_one(base, -1) and not stays else base.tail
    elif op.name == "view":
        part.lead = _lead(m, None, bound)
        part.tail = Dimension.SIZE_ONE if sizes and sizes[-1] == Const(1) else Dimension.UNKNOWN
    elif op.name == "unsqueeze" and bound["dim"] in (Const(0), Const(-1)):
        first = bound["dim"] == Const(0)
        part.lead, part.tail = (Dimension.SIZE_ONE, base.tail) if first else (base.lead, Dimension.SIZE_ONE)
    elif op.name == "unfold" and _overlap(m, bound):
        part.lead = Dimension.OVERLAPPING
    return part


def _region(m: Trace, op: facts.Op, base: Tensor, bound: Bindings) -> Region | None:
    """Which elements a view takes: a transposition takes all of its base, ``narrow`` and ``select`` some."""
    if kinds.plain(op.name) in _TRANSPOSING:
        return base.region or Region(base, _ALL, m.clock)
    if op.name in _RESHAPING:
        return Region(base, _ALL, m.clock, reshaped=True)
    if op.name in _PICKING:
        others = [m.see(value) for name, value in bound.items() if name != "self"]
        return Region(base, (Const(op.name), *(value for value in others if isinstance(value, Const))), m.clock)
    dim = constant(m.see(bound.get("dim", NONE)))
    if op.name not in ("narrow", "select") or not isinstance(dim, int):
        return None
    taken = m.see(bound["index"]) if op.name == "select" else span(m.see(bound["start"]), m.see(bound["length"]))
    return Region(base, along(dim, taken), m.clock)


def along(dim: int, taken: Value) -> tuple[Value, ...]:
    """The index that takes ``taken`` of one dimension, and all of the others."""
    rest = [Slice(NONE, NONE, NONE)]
    return (*rest * dim, taken) if dim >= 0 else (*_ALL, taken, *rest * (-1 - dim))


def _overlap(m: Trace, bound: Bindings) -> bool:
    """Whether windows of the size that is given, or most likely given, overlap when they are so many steps apart."""
    given = (m.see(bound.get(name, NONE)) for name in ("size", "step"))
    known = [value.default if isinstance(value, Unknown) and value.default is not None else value for value in given]
    size, step = map(constant, known)
    return isinstance(size, int) and isinstance(step, int) and step < size


def _sizes(m: Trace, bound: Bindings) -> tuple[Value, ...]:
    """The sizes that an operator is given, where it is known how many."""
    given = bound.get("size", bound.get("shape"))
    if given is None:
        return ()
    size = m.see(given)
    if isinstance(size, List) and not m.state.get(size).open:
        return tuple(map(m.see, m.state.get(size).items))
    return tuple(map(m.see, size.items)) if isinstance(size, Tuple) else ()


def _repeats_nothing(m: Trace, base: Tensor, bound: Bindings) -> bool:
    """Whether an expanded tensor surely has no element twice: it has its old size, or at most one element."""
    other, size = (m.see(bound.get(name, NONE)) for name in ("other", "size"))
    if isinstance(other, Tensor):
        wanted = () if other.dims == 0 else other.shape
        return same_tensor(base, other) or (wanted is not None and shapes.repeats_nothing(base.shape, wanted))
    if not isinstance(size, Tuple) and (not isinstance(size, List) or m.state.get(size).open):
        return False
    sizes = [
        value.value if isinstance(value, Const) and isinstance(value.value, int) else None for value in _sizes(m, bound)
    ]
    return shapes.repeats_nothing(base.shape, sizes)


def _may_keep_its_size(m: Trace, bound: Bindings) -> bool:
    """Whether the program computes each of the sizes in several ways: ``broadcast(x.shape, y.shape)``."""
    given = m.see(bound.get("size", NONE))
    found = m.state.get(given).items if isinstance(given, List) else _sizes(m, bound)
    sizes = [size for size in map(m.see, found) if size != Const(-1)]
    return bool(sizes) and all(isinstance(size, Choice) for size in sizes)


def _is_broadcast(m: Trace, base: Tensor, bound: Bindings) -> bool:
    """Whether ``broadcast_tensors`` repeats elements of a tensor, which may have the full size."""
    whole: shapes.Shape | None = ()
    for tensor in tensors_in(m, bound["tensors"]):
        whole = shapes.broadcast(whole, tensor.shape)
    if whole is not None and base.shape is not None:
        return prod(whole) > prod(base.shape)
    return base.lead is Dimension.SIZE_ONE or base.dims == 0


def _lead(m: Trace, expanded: Tensor | None, bound: Bindings) -> Dimension:
    """What is known of the first dimension of a new tensor, or of one that was expanded."""
    sizes = _sizes(m, bound)
    if expanded is None or not sizes or sizes[0] == Const(1):
        return Dimension.SIZE_ONE if sizes and sizes[0] == Const(1) else Dimension.UNKNOWN
    dims = expanded.dims if expanded.shape is None else len(expanded.shape)
    grown = dims is not None and len(sizes) > dims
    grown = grown or (_is_size_one(expanded, 0) and sizes[0] != Const(-1))
    return Dimension.EXPANDED if grown else Dimension.UNKNOWN


def _is_size_one(tensor: Tensor, dim: int) -> bool:
    """Whether the first (0) or the last (-1) dimension surely has one element."""
    known, shape = tensor.tail if dim else tensor.lead, tensor.shape
    return known is Dimension.SIZE_ONE or bool(shape and shape[dim] == 1)


def _dims(m: Trace, op: facts.Op, operands: dict[str, list[Tensor]], bound: Bindings) -> int | None:
    """The number of dimensions of a new tensor, as far as it tells an index from a list of indices."""
    if op.name in _SEQUENCES or (op.name in _FLAT and len(op.outs) == 1 and bound.get("dim", NONE) == NONE):
        return 1
    if op.name in _POSITIONS and bound.get("dim", NONE) == NONE and bound.get("keepdim", NONE) == NONE:
        return 0  # a position in all of a tensor
    if op.name in _SIZED and (sizes := _sizes(m, bound)):
        return len(sizes)
    if op.name in ("tensor", "as_tensor") and "data" in bound:
        return _depth(m, bound["data"])
    if op.name in _CONVERSIONS:
        return next((tensor.dims for tensor in operands.get("self", ())), None)
    return None


_SEQUENCES = frozenset({"arange", "linspace", "randperm", "range"})
_FLAT = frozenset({"unique", "unique_consecutive", "masked_select"})
_POSITIONS = frozenset({"argmax", "argmin"})
_SIZED = frozenset({"zeros", "ones", "empty", "full", "rand", "randn"})
_CONVERSIONS = frozenset({"clone", "to", "long", "int", "contiguous"})


def _depth(m: Trace, value: Value) -> int | None:
    """How deep numbers are nested in lists."""
    value = m.see(value)
    if isinstance(value, Const) and isinstance(value.value, (int, float)):
        return 0
    if isinstance(value, (List, Tuple)):
        items = value.items if isinstance(value, Tuple) else m.state.get(value).items
        inner = _depth(m, items[0]) if items else None
        return None if inner is None else inner + 1
    return None
