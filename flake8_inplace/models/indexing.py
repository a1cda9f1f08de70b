"""``x[index]`` and ``x[index] = value``."""

from __future__ import annotations

from ..heap.autograd import perhaps
from ..heap.regions import items_of, same_tensor, takes_all
from ..heap.values import (
    NONE,
    UNCERTAIN,
    CellState,
    Const,
    Dimension,
    DType,
    Grad,
    Node,
    Origin,
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
from .dtypes import hold_whole_numbers
from .operators import keep, leaves, write
from .parts import lead_of_part, tail_of_part, take
from .refusals import is_expanded, shares_memory, unbatched
from .tensors import fresh, use, view


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
    if (key := _key_of(tensor, index)) is not None:
        return _entry(m, tensor, key)
    use(m, index)
    if not is_advanced(m, index):
        part = view(m, tensor)
        if tensor.dims is not None and isinstance(index, (Const, Unknown, Tensor)) and index != Const(...):
            part.dims = tensor.dims - 1
        take(m, part, tensor, index)
        items = items_of(index)
        reshaped = NONE in items and all(item == NONE or takes_all(item) for item in items)
        part.region = Region(tensor, (Const(...),) if reshaped else items, m.clock, reshaped)
        return part
    return _index_node(m, tensor, [], index, site)


def _key_of(table: Tensor, index: Value) -> str | Tensor | None:
    """Return the key by which something is read that was taken for a tensor, if it can only be a dictionary.

    The keys are strings, or what iteration over it yields: ``for name in features: features[name] = ...``.
    """
    if isinstance(key := constant(index), str):
        return key
    if not isinstance(index, Tensor) or table.made is not None:
        return None
    return index if index.view is View.MULTI_OUTPUT and index.storage is table.storage else None


def _entry(m: Trace, table: Tensor, key: str | Tensor) -> Value:
    """Return the value under a key of a dictionary that was taken for a tensor."""
    if (stored := m.state.store.get((table, "[]", key))) is not None:
        return m.see(stored)
    found = m.symbol("[]", table, key, grad=m.grad(table))
    found.node = found.node or m.cell(table).node
    return m.see(found)


def _index_node(m: Trace, tensor: Tensor, values: list[Value], index: Value, site: Site) -> Tensor:
    """The copy that advanced indexing makes; the index tensors themselves are saved."""
    use(m, tensor)
    for one in tensors_in(m, index):
        hold_whole_numbers(m, one)
    result = fresh()
    result.dtype, result.made = tensor.dtype, Origin("index", (tensor, *values, *items_of(index)), m.clock)
    grad = max([m.grad(tensor), *(m.grad(m.see(v)) for v in values)]) if m.grad_mode else Grad.NO
    if grad:
        saves = _keep_indices(m, index, grad, site)
        node = Node("index", saves, m.history(tensor, *values), leaves=(*leaves(m, [tensor]), *[None] * bool(values)))
        m.state.put(result.cell, CellState(grad, node, False))
    return result


def _keep_indices(m: Trace, index: Value, grad: Grad, site: Site) -> tuple[Saved, ...]:
    """Indexing saves its masks and index tensors. What is indexed must surely require grad: it often holds integers."""
    if grad is not Grad.YES:
        return ()
    return tuple(keep(m, "indexing", "index", tensor.storage, site) for tensor in tensors_in(m, index))


def assign_subscript(m: Trace, tensor: Tensor, index: Value, value: Value, site: Site, form: str) -> None:
    """``x[index] = value``: the whole storage counts as overwritten."""
    value = m.see(value)
    if (key := _key_of(tensor, index)) is not None:
        m.state.set(m.state.store, (tensor, "[]", key), value)  # a dictionary that was taken for a tensor
        return
    use(m, index, value)
    copies = is_advanced(m, index)
    whole = copies or index == Const(...) or (isinstance(index, Slice) and index.lower == index.upper == NONE)
    if inside := _sources_inside(m, tensor, index, value, copies):
        if all(one.origin not in UNCERTAIN for one in (tensor, *inside)):
            m.refuse("overlap", site, depth=depth_of(m, tensor), other=tensor)
        return
    expanded = is_expanded(m, tensor)
    lead = Dimension.UNKNOWN if copies else lead_of_part(m, tensor, index)
    if expanded and not copies and (whole or Dimension.EXPANDED in (lead, tail_of_part(m, tensor, index))):
        m.refuse("expand", site, depth=depth_of(m, tensor), other=tensor)
        return
    for one in tensors_in(m, index) if copies else ():
        hold_whole_numbers(m, one)
    sources = (source for given in (value, index) for source in tensors_in(m, given))
    events.assign_part(m, tensor, items_of(index), value, site)
    written = Written("setitem", (value,), items_of(index))
    refused = unbatched(m, tensor, sources, site) or write(m, tensor, form, site, reach(m, value), whole, written)
    if not refused and ((copies and expanded) or lead is Dimension.ROW):
        m.refuse("expanded", site, depth=depth_of(m, tensor), other=tensor)
    if m.grad_mode and not refused:
        _record(m, tensor, index, value, site)


def _sources_inside(m: Trace, tensor: Tensor, index: Value, value: Value, copies: bool) -> list[Tensor]:
    """Return the tensors in the index, or else the value, that share the memory which the assignment overwrites."""
    number = isinstance(value, Const) or is_number(value)
    if number and isinstance(index, Tensor) and same_tensor(index, tensor) and not _holds_indices(tensor):
        return []  # `mask[mask] = False` fills at once
    inside = [other for other in tensors_in(m, index) if other.storage is tensor.storage]
    if copies and not inside and isinstance(value, Tensor):
        inside = [value] if shares_memory("index_put_", tensor, {"value": [value]}) else []
    return inside


_COUNTING = frozenset("arange range randperm randint argsort argmax argmin bincount multinomial".split())


def _holds_indices(tensor: Tensor) -> bool:
    """Whether a tensor surely holds integers, and is no mask."""
    return tensor.made is not None and tensor.made.op in _COUNTING


def _record(m: Trace, tensor: Tensor, index: Value, value: Value, site: Site) -> None:
    """Record an assignment to a part of a tensor in the autograd graph."""
    grad = max(m.cell(tensor).grad, reach(m, value))
    for source in tensors_in(m, value):
        events.record(m, source)
    if grad and tensor.dtype is not DType.INTEGRAL:
        saves = _keep_indices(m, index, grad, site) if is_advanced(m, index) else ()
        given = m.history(value)
        if not isinstance(value, Tensor) and (joined := perhaps(given)) is not None:
            given = (joined,)
        node = Node("setitem", saves, tuple(dict.fromkeys((*m.history(tensor), *given))))
        m.state.put(tensor.cell, CellState(grad, node, False))
        events.recorded(m, node, site)
