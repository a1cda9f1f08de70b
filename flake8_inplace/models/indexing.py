"""``x[index]`` and ``x[index] = value``."""

from __future__ import annotations

from ..heap.regions import items_of, takes_all
from ..heap.values import (
    NONE,
    UNCERTAIN,
    CellState,
    Const,
    Dimension,
    DType,
    Grad,
    Node,
    Region,
    Saved,
    Slice,
    Tensor,
    Tuple,
    Unknown,
    Value,
    View,
    constant,
    is_number,
)
from ..program.site import Site
from ..trace import events
from ..trace.holdings import depth_of, reach, tensors_in
from ..trace.log import Written
from ..trace.trace import Trace
from .operators import hold_whole_numbers, keep, write
from .refusals import unbatched
from .tensors import fresh, view


def is_advanced(m: Trace, index: Value) -> bool:
    """Whether indexing by ``index`` copies; what is not known to view is taken to copy."""
    index = m.see(index)
    if isinstance(index, Tuple):
        return any(is_advanced(m, item) for item in index.items)
    if isinstance(index, Const):
        return isinstance(index.value, (bool, str))
    if isinstance(index, Unknown):
        return not (index.scalar or index.positive)
    if isinstance(index, Tensor):
        return index.dims != 0  # a single number selects, as an int does
    return not isinstance(index, Slice)


def subscript(m: Trace, tensor: Tensor, index: Value, site: Site) -> Value:
    """``x[index]``: a view, or a copy where the index is a tensor or a list."""
    if not is_advanced(m, index):
        part = view(m, tensor)
        if tensor.dims is not None and isinstance(index, (Const, Unknown, Tensor)) and index != Const(...):
            part.dims = tensor.dims - 1
        part.lead, part.tail = _lead_of_part(m, tensor, index), _tail_of_part(m, tensor, index)
        # whether a part of expanded memory still overlaps itself depends on the dimension
        if part.view is View.EXPANDED and Dimension.EXPANDED not in (part.lead, part.tail):
            part.view = View.ORDINARY
        items = items_of(index)
        reshaped = NONE in items and all(item == NONE or takes_all(item) for item in items)
        part.region = Region(tensor, (Const(...),) if reshaped else items, m.clock, reshaped)
        return part
    return _index_node(m, tensor, [], index, site)


def _lead_of_part(m: Trace, tensor: Tensor, index: Value) -> Dimension:
    """What is known of the first dimension of a part of a tensor, or that it is one of several rows in one memory."""
    first = m.see(index.items[0]) if isinstance(index, Tuple) and index.items else index
    if first == NONE:
        return Dimension.SIZE_ONE
    if isinstance(first, Slice) and first.lower == first.upper == NONE:
        return tensor.lead
    number = first.dims == 0 if isinstance(first, Tensor) else is_number(first)
    row = tensor.lead is Dimension.ROW or (tensor.lead is Dimension.EXPANDED and number)
    return Dimension.ROW if row else Dimension.UNKNOWN


def _tail_of_part(m: Trace, tensor: Tensor, index: Value) -> Dimension:
    """What is known of the last dimension of a part of a tensor."""
    last = m.see(index.items[-1]) if isinstance(index, Tuple) and index.items else index
    if isinstance(index, Tuple) and last != Const(...):
        return Dimension.SIZE_ONE if last == NONE else Dimension.UNKNOWN
    keeps = last in (NONE, Const(...)) or isinstance(last, Slice) or is_number(last)
    return tensor.tail if keeps else Dimension.UNKNOWN


def _index_node(m: Trace, tensor: Tensor, values: list[Value], index: Value, site: Site) -> Tensor:
    """The copy that advanced indexing makes; the index tensors themselves are saved."""
    for one in tensors_in(m, index):
        hold_whole_numbers(m, one)
    result = fresh()
    result.dtype = tensor.dtype
    grad = max([m.grad(tensor), *(m.grad(m.see(v)) for v in values)]) if m.grad_mode else Grad.NO
    if grad:
        saves = _keep_indices(m, index, grad, site)
        m.state.put(result.cell, CellState(grad, Node("index", saves, m.history(tensor, *values)), False))
    return result


def _keep_indices(m: Trace, index: Value, grad: Grad, site: Site) -> tuple[Saved, ...]:
    """Indexing saves its masks and index tensors. What is indexed must surely require grad: it often holds integers."""
    if grad is not Grad.YES:
        return ()
    return tuple(keep(m, "indexing", "index", tensor.storage, site) for tensor in tensors_in(m, index))


def assign_subscript(m: Trace, tensor: Tensor, index: Value, value: Value, site: Site, form: str) -> None:
    """``x[index] = value``: the whole storage counts as overwritten."""
    if isinstance(constant(index), str):
        return  # a dictionary that was taken for a tensor
    value = m.see(value)
    copies = is_advanced(m, index)
    whole = copies or index == Const(...) or (isinstance(index, Slice) and index.lower == index.upper == NONE)
    inside = [other for other in tensors_in(m, index) if other.storage is tensor.storage]
    if inside:
        if all(one.origin not in UNCERTAIN for one in (tensor, *inside)):
            m.refuse("overlap", site, depth=depth_of(m, tensor), other=tensor.place)
        return
    expanded = tensor.view is View.EXPANDED
    lead = Dimension.UNKNOWN if copies else _lead_of_part(m, tensor, index)
    if expanded and not copies and (whole or Dimension.EXPANDED in (lead, _tail_of_part(m, tensor, index))):
        m.refuse("expand", site, depth=depth_of(m, tensor), other=tensor.place)
        return
    for one in tensors_in(m, index) if copies else ():
        hold_whole_numbers(m, one)
    sources = (source for given in (value, index) for source in tensors_in(m, given))
    events.assign_part(m, tensor, items_of(index), value, site)
    written = Written("setitem", (value,), items_of(index))
    refused = unbatched(m, tensor, sources, site) or write(m, tensor, form, site, reach(m, value), whole, written)
    if not refused and ((copies and expanded) or lead is Dimension.ROW):
        m.refuse("expanded", site, depth=depth_of(m, tensor), other=tensor.place)
    if m.grad_mode and not refused:
        _record(m, tensor, index, value, site)


def _record(m: Trace, tensor: Tensor, index: Value, value: Value, site: Site) -> None:
    """Record an assignment to a part of a tensor in the autograd graph."""
    grad = max(m.cell(tensor).grad, reach(m, value))
    for source in tensors_in(m, value):
        events.record(m, source)
    if grad and tensor.dtype is not DType.INTEGRAL:
        saves = _keep_indices(m, index, grad, site) if is_advanced(m, index) else ()
        node = Node("setitem", saves, m.history(tensor, value))
        m.state.put(tensor.cell, CellState(grad, node, False))
