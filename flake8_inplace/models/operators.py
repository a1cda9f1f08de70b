"""What one operator does: it saves, overwrites and returns. By way of the facts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..heap.autograd import phi
from ..heap.values import (
    ALWAYS,
    CHECKPOINT,
    NONE,
    Bindings,
    Cell,
    CellState,
    Dimension,
    DType,
    Grad,
    Guard,
    List,
    Node,
    Saved,
    Source,
    Storage,
    Tensor,
    Tuple,
    Unknown,
    Value,
    View,
)
from ..program.site import Site
from ..torchfacts import kinds
from ..torchfacts import ops as facts
from ..torchfacts.notation import DOUBLE, DTYPE, FITS, SHAPE, Condition, Save
from ..torchfacts.refusals import reshapes, takes_expanded
from ..trace import events
from ..trace.holdings import depth_of, is_own, tensors_in, unknowns
from ..trace.log import PLAIN, Written
from ..trace.trace import BATCHED, Trace
from . import shapes
from .amp import copies
from .dtypes import NUMBERS, note_whole_numbers
from .options import holds
from .parts import is_shared_row
from .refusals import (
    RESTRIDED,
    adds_up,
    is_expanded,
    is_leaf,
    is_reordered,
    lacks_derivative,
    overlaps,
    refusal,
    shares_memory,
    spoils,
    unbatched,
)
from .results import make_result
from .tensors import data, use

_PRODUCTS = frozenset({"einsum", "multi_dot", "chain_matmul"})
"""Operators over a list that save an element for the gradients of the others."""
SAVES = 64
"""The most saves of one memory that are told apart: the first of them speak for the others."""
_RELATING = kinds.DIFFERENCES | kinds.EQUATING
_RELATING |= {*"add lerp mul dot vdot matmul mm div where maximum minimum add_ sub_ mul_ lerp_".split()}
"""Operators that say nothing, or little, of a tensor and itself."""


@dataclass(slots=True, eq=False)
class _Call:
    """One operator at work: its operands by parameter, and whether autograd records it."""

    op: facts.Op
    bound: Bindings
    site: Site
    operands: dict[str, list[Tensor]]
    unknown: list[Unknown]  # operands that may be tensors, or hold some
    requiring: set[str]  # parameters that require grad
    grad: Grad  # of the result

    @property
    def given(self) -> list[Tensor]:
        return [tensor for found in self.operands.values() for tensor in found]

    @property
    def written(self) -> list[Tensor]:
        return [tensor for name in self.op.writes for tensor in self.operands.get(name, ())]

    def pairs(self) -> list[tuple[Tensor, Tensor]]:
        """Both operands of an operator of two; of one that works on lists, element by element."""
        both = [found for name, found in self.operands.items() if found and name != "condition"]
        return list(zip(*both, strict=False)) if len(both) == 2 and len(both[0]) == len(both[1]) else []


def _of_one(op: facts.Op) -> str:
    """The name of an operator; of one that works on lists, that of what it does with each element."""
    return kinds.plain(op.name).removeprefix("_foreach_")


def run(m: Trace, op: facts.Op, bound: Bindings, site: Site, form: str) -> Value:
    """One operator runs: it saves, overwrites and returns."""
    call = _resolve(m, op, bound, site)
    name = _of_one(op)
    for one, other in call.pairs() if name in _RELATING else ():
        events.relate(m, name, one, other, site)
    if op.unseen:
        _overwrite_unseen(m, call)
    saves = _save_operands(m, call) if call.grad else []
    refused = _write(m, call, form)
    results = _results(m, call)
    if call.grad:
        _record(m, call, saves, results, refused)
    return results[0] if len(results) == 1 else Tuple(tuple(results)) if results else NONE


def _resolve(m: Trace, op: facts.Op, bound: Bindings, site: Site) -> _Call:
    operands: dict[str, list[Tensor]] = {}
    unknown: list[Unknown] = []
    for position, param in enumerate(op.params):
        if param.kind == "other" or (value := bound.get(param.name)) is None:
            continue
        proves = param.kind == "tensor" and position == 0 and op.name != "tensor"  # which takes numbers and lists too
        value = m.promote(value) if proves else m.see(value)
        if type(value) is Tensor:
            operands[param.name] = [value]
            continue
        operands[param.name] = _tensors_of(m, value, position == 0 and param.kind == "tensors")
        unknown.extend(unknowns(m, value))
    note_whole_numbers(m, op, bound, operands)
    grads = {name: max(map(m.grad, tensors), default=Grad.NO) for name, tensors in operands.items()}
    if m.backward.used is not None:
        use(m, *(tensor for name, found in operands.items() if name not in op.writes for tensor in found))
    recording = m.grad_mode and (not op.outs or any(out.differentiable for out in op.outs))
    for value in unknown if recording else ():
        if not m.state[NUMBERS].get(value):
            grads[_ANY] = max(grads.get(_ANY, Grad.NO), m.grad(value))
    grad = max(grads.values(), default=Grad.NO) if recording else Grad.NO
    return _Call(op, bound, site, operands, unknown, {name for name, which in grads.items() if which}, grad)


def _tensors_of(m: Trace, value: Value, only: bool) -> list[Tensor]:
    """The tensors in an operand. ``only``: it has nothing but tensors, as what ``torch.stack`` takes."""
    if only and isinstance(value, (List, Tuple)):
        for element in unknowns(m, value):
            m.promote(element)
    found = list(tensors_in(m, value))
    if isinstance(value, List):
        for tensor in found:
            events.load(m, value, tensor, True)
    return found


_ANY = "*unknown"
"""Stands in ``requiring`` for operands that may be tensors."""


def _save_operands(m: Trace, call: _Call) -> list[Saved]:
    """Save operands for the gradients of others."""
    saves: list[Saved] = []
    for save in call.op.saves:
        if not _makes(m, call, save):
            continue
        tensors = call.operands.get(save.slot, [])
        for index, tensor in enumerate(tensors):
            if copies(m, call.op, tensor) or shapes.pads_unevenly(m, call.op, save.slot, call.operands, call.bound):
                continue
            others = tensors[:index] + tensors[index + 1 :]
            if call.op.name not in _PRODUCTS or any(map(m.grad, others)):
                saves.append(_keep(m, call, save, save.slot, tensor))
    for tensor in call.given if not call.op.unseen else ():
        events.record(m, tensor)
    return saves


def _keep(m: Trace, call: _Call, save: Save, slot: str, tensor: Tensor) -> Saved:
    known = _ANY not in call.requiring
    needs = frozenset(other.cell for other in call.given if m.grad(other)) if known else frozenset[Cell]()
    asking = () if call.grad is Grad.YES and _is_certain(m, call, save) else tuple(filter(m.grad, call.given))
    leaf = m.grad(tensor) is Grad.YES and m.cell(tensor).node is None
    made_for = {other.cell for name in save.needs for other in call.operands.get(name, ()) if m.grad(other)}
    guard = m.requiring(made_for) if known else ALWAYS
    used = _using(m, call, slot)
    kept = keep(m, call.op.name, slot, tensor.storage, call.site, False, needs, save.device, asking, leaf, guard, used)
    if tensor in m.reports.casts:
        m.reports.cast[kept] = m.reports.casts[tensor]
    return kept


def _using(m: Trace, call: _Call, slot: str) -> tuple[Tensor, ...] | None:
    """Return the operands whose gradient is computed from the values of a saved one, if no such gradient is certain."""
    if call.op.name not in kinds.ONE_KERNEL:
        return None
    slots = {save.slot for save in call.op.saves} - {slot}
    factors = [tensor for name in sorted(slots) for tensor in call.operands.get(name, ()) if m.grad(tensor)]
    return None if any(m.grad(tensor) is Grad.YES for tensor in factors) else tuple(factors)


def _is_certain(m: Trace, call: _Call, save: Save) -> bool:
    """Whether an operand that the save is made for requires grad for certain."""
    return any(m.grad(tensor) is Grad.YES for name in save.needs for tensor in call.operands.get(name, ()))


def _overwrite_unseen(m: Trace, call: _Call) -> None:
    """A kernel stores the gradient of an operand in its place, past the version counter. It is saved after that."""
    for tensor in call.given if call.grad else ():
        events.record(m, tensor)
    for tensor in [tensor for name in call.op.unseen for tensor in call.operands.get(name, ())]:
        if m.grad(tensor):
            write(m, data(m, tensor), "op_", call.site, written=Written(call.op.name, unseen=True))


def _write(m: Trace, call: _Call, form: str) -> bool:
    """Overwrite what the operator overwrites; True if torch refuses to."""
    op, site, written = call.op, call.site, call.written
    if not op.writes:
        return False
    if op.name == "set_" and m.backward.readonly:
        return False  # it gives a tensor other memory: a reversible layer brings back an input that it had freed
    if _of_one(op) == "copy_":
        for tensor, source in call.pairs():
            events.copy(m, tensor, source)
    sources = [other for name, found in call.operands.items() if name not in op.writes for other in found]
    index = _index(m, call)
    refused = False
    for tensor in written:
        if reshapes(op.name):
            tensor.shape = None
        if is_expanded(m, tensor) and takes_expanded(op.name):
            events.write(m, tensor.storage, form, site)
            kind = spoils(m, op, tensor, call.bound, call.grad)
            if kind:
                m.refuse(kind, site, depth=depth_of(m, tensor), other=tensor)
            continue
        over = next((other for other in call.given if overlaps(tensor, other)), None)
        if over is not None or shares_memory(op.name, tensor, call.operands):
            values = tuple(value for name, value in call.bound.items() if name not in op.writes)
            events.attempt(m, tensor, form, site, call.grad, True, False, Written(kinds.plain(op.name), values, index))
            m.refuse("overlap", site, other=over.place if over is not None else None)
        else:
            events.operate(m, kinds.plain(op.name), tensor, sources, m.see(call.bound.get("alpha", NONE)), site)
            for other in [other for other in call.given if is_reordered(tensor, other)]:
                m.refuse("shift", site, other=other.place)
            refused = unbatched(m, tensor, sources, site) or _write_one(m, tensor, form, call, index) or refused
    for tensor in written if op.name == "as_strided_" else ():
        m.state.set(m.state[RESTRIDED], tensor, shapes.repeats_elements(m, call.bound))
    return refused


def _index(m: Trace, call: _Call) -> tuple[Value, ...] | None:
    """The elements that an operator overwrites, if it is given them as an index."""
    if call.op.name == "masked_fill_":
        return (call.bound["mask"],)
    indices = m.see(call.bound.get("indices", NONE)) if call.op.name == "index_put_" else NONE
    return tuple(map(m.see, indices.items)) if isinstance(indices, Tuple) else None


def _write_one(m: Trace, tensor: Tensor, form: str, call: _Call, index: tuple[Value, ...] | None) -> bool:
    values = tuple(value for name, value in call.bound.items() if name not in call.op.writes)
    return write(m, tensor, form, call.site, call.grad, written=Written(kinds.plain(call.op.name), values, index))


def _results(m: Trace, call: _Call) -> list[Value]:
    """Make the tensors that the operator returns."""
    op = call.op
    results = [make_result(m, op, out, call.operands, call.bound) for out in op.outs]
    if m.alike is not None and len(op.outs) == 1 and op.outs[0].kind == "fresh":
        results = [_alike(m, op, results[0], call.grad)]
    if m.state[BATCHED] and any(map(m.state[BATCHED].get, call.given)):
        for tensor in [tensor for result in results for tensor in tensors_in(m, result)]:
            m.state.set(m.state[BATCHED], tensor, True)
    return results


def _record(m: Trace, call: _Call, saves: list[Saved], results: list[Value], refused: bool) -> None:
    """Record the operator in the autograd graph: its node is the history of what it returns and overwrites."""
    op = call.op
    saves += _save_results(m, call, results)
    asking = tuple(filter(m.grad, call.given))  # of what may not even be a tensor nothing is said
    if call.written and asking and not refused and lacks_derivative(m, op, call.bound):
        storage, calls = call.written[0].storage, tuple(m.stack.calls)
        asking = () if call.grad is Grad.YES else asking
        saves.append(Saved(op.name, "result", storage, call.site, m.state.guard(), calls, asking=asking))
        events.underivable(m, saves[-1], call.site)
    nodes = [*(m.cell(tensor).node for tensor in call.given), *(value.node for value in call.unknown)]
    parents = tuple(dict.fromkeys(node for node in nodes if node is not None))
    guard = m.state.guard() if m.alike is not None else ALWAYS
    node = Node(op.name, tuple(saves), parents, guard, (*leaves(m, call.given), *[None] * bool(call.unknown)))
    for tensor in _returned(call) if not refused else ():
        if tensor.dtype is not DType.INTEGRAL:
            m.state.put(tensor.cell, CellState(max(m.cell(tensor).grad, call.grad), node, False))
            events.recorded(m, node, call.site)
    shared = {tensor.cell for tensor in call.given}
    requiring = {tensor.cell for tensor in call.given if m.grad(tensor)}
    without = () if _ANY in call.requiring else tuple(m.without(requiring))
    for out, result in zip(op.outs, results, strict=True):
        if out.differentiable and out.kind != "detached":
            for tensor in tensors_in(m, result):
                if tensor.cell not in shared and tensor.dtype is not DType.INTEGRAL:
                    history = phi((tensor.cell.initial.node, node))
                    tensor.cell.initial = CellState(call.grad, history, False, without)


def leaves(m: Trace, operands: Iterable[Tensor]) -> tuple[Cell | None, ...]:
    """Return the leaves among operands, and None for one whose history is unknown."""
    states = [(tensor.cell, m.cell(tensor)) for tensor in operands]
    return tuple([cell if state.leaf else None for cell, state in states if state.grad and state.node is None])


def _returned(call: _Call) -> list[Tensor]:
    """Return the overwritten operands that the node is the history of: those that the operator returns, if any."""
    returned = {out.of for out in call.op.outs if out.kind == "same"}
    names = [name for name in call.op.writes if name in returned or not call.op.outs]
    return [tensor for name in names for tensor in call.operands.get(name, ())]


def _save_results(m: Trace, call: _Call, results: list[Value]) -> list[Saved]:
    """Save results for the gradients of operands."""
    saves: list[Saved] = []
    for save in call.op.saves:
        if save.slot.startswith("result") and _makes(m, call, save):
            index = int(save.slot[6:] or 0)
            for tensor in tensors_in(m, results[index]) if index < len(results) else ():
                saves.append(_keep(m, call, save, "result", tensor))
    return saves


def _alike(m: Trace, op: facts.Op, made: Value, grad: Grad) -> Value:
    """The tensor that stands for the result of an operator, if it was given several values; or ``made`` itself."""
    if m.alike is None or not isinstance(made, Tensor):
        return made
    m.alike.number += 1
    form = (made.dims, made.shape, made.lead, made.contiguous, made.dtype)
    key = (m.alike.number, op.name, grad, made.origin, made.view, form)
    return m.alike.made.setdefault(key, made)


def _makes(m: Trace, call: _Call, save: Save) -> bool:
    """Whether a call surely makes this save."""
    sure = all(_holds(m, condition, call) for condition in save.when) if save.when else save.sure
    return sure and not call.requiring.isdisjoint(save.needs)


def _holds(m: Trace, condition: Condition, call: _Call) -> bool:
    """Whether a condition on an option, or on the shapes of tensors, surely holds."""
    lead = next((param.name for param in call.op.params if param.kind == "tensor"), "")
    first = call.operands.get(lead, [])
    given = call.operands.get(condition.about, [])
    if condition.option.endswith(FITS):
        sizes = call.bound.get(condition.about, NONE)
        return bool(first) and shapes.is_as_large(m, first[0], sizes, call.bound.get("dim", NONE))
    if condition.option.endswith(SHAPE):
        return bool(given and first) and shapes.fulfils(condition, given[0], first[0])
    if condition.option.endswith(DTYPE):
        return bool(given) and condition.holds(DOUBLE if given[0].dtype is DType.DOUBLE else None)
    return holds(m, condition, call.bound)


def keep(
    m: Trace,
    op: str,
    slot: str,
    storage: Storage,
    site: Site,
    possible: bool = False,
    needs: frozenset[Cell] = frozenset(),
    device: str = "",
    asking: tuple[Tensor, ...] = (),
    leaf: bool = False,
    only: Guard = ALWAYS,
    used: tuple[Tensor, ...] | None = None,
) -> Saved:
    """Autograd keeps a tensor for the backward pass, where one of ``needs`` requires grad and ``only`` holds."""
    packing = m.state.modes.get("packing")
    guard, calls = m.state.guard() | only, tuple(m.stack.calls)
    hooked = packing if packing in ("share", CHECKPOINT) else ""
    saved = Saved(op, slot, storage, site, guard, calls, hooked, possible, needs, device, asking, leaf, used)
    if packing == CHECKPOINT:
        m.state.set(m.state.modes, "last save", m.tick())
    held = m.state.get(storage)
    if packing != "copy" and len(held) < SAVES:
        m.state.put(storage, held | {saved})
    return saved


def write(
    m: Trace,
    tensor: Tensor,
    form: str,
    site: Site,
    grad: Grad = Grad.NO,
    whole: bool = True,
    written: Written = PLAIN,
) -> bool:
    """Overwrite a tensor in place, from values that require grad as ``grad`` says; True if torch refuses.

    That is reported, and the tensor stays as it is. ``whole`` is False if only one part of it is written.
    """
    grad = Grad.NO if tensor.dtype is DType.INTEGRAL else grad
    refused = refusal(m, tensor, grad, form, whole)
    overlapping = tensor.lead is Dimension.OVERLAPPING and adds_up(form, written.op)
    wrong = bool(refused) or is_shared_row(m, tensor) or overlapping
    carries = wrong and any(_carries(m, tensor, value) for value in written.values)
    events.attempt(m, tensor, form, site, grad, bool(refused), carries, written)
    if wrong:
        depth, given = depth_of(m, tensor), is_leaf(m, tensor) and not is_own(m, tensor)
        m.refuse(refused or "expanded", site, depth=depth, carries=carries, other=tensor, given=given)
    if not m.grad_mode and is_leaf(m, tensor):
        m.note_spared(site)
    if not refused:
        own = reshapes(written.op) and tensor.view is not View.NONE  # `unsqueeze_` of a view changes that view's shape
        if tensor.storage not in m.backward.readonly or not (own or tensor.origin is Source.MAYBE_CAST):
            events.write(m, tensor.storage, form, site)
        if not reshapes(written.op):
            events.overwrite(m, tensor, form, site, written)
    return bool(refused)


def _carries(m: Trace, leaf: Tensor, value: Value, depth: int = 6) -> bool:
    """Whether a value has a gradient of more than the leaf that it is written to: not so ``w -= decay * w``."""
    value = m.see(value)
    if m.grad(value) is not Grad.YES or not depth:
        return False
    if not isinstance(value, Tensor):
        return True
    if value.storage is leaf.storage:
        return False
    given = value.made.values if value.made is not None else ()
    operands = [operand for operand in map(m.see, given) if m.grad(operand)]
    return not operands or any(_carries(m, leaf, operand, depth - 1) for operand in operands)
