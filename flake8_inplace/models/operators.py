"""What one operator does: it saves, overwrites and returns. By way of the facts."""

from __future__ import annotations

from typing import Final

from ..hazards import data, origins, saved, stale
from ..hazards.refused import adds_up, overlaps, refusal, style, unbatched
from ..hazards.snapshots import UPDATES
from ..heap.autograd import phi
from ..heap.values import (
    ALWAYS,
    NONE,
    Bindings,
    Cell,
    CellState,
    Const,
    Grad,
    List,
    Node,
    Saved,
    Storage,
    Tensor,
    Tuple,
    Unknown,
    Value,
)
from ..program.site import Site
from ..torchfacts import ops as facts
from ..trace.holdings import tensors_in, unknowns
from ..trace.trace import BATCHED, Trace
from .results import make_result, to_integers

_FILLING = frozenset("fill zero masked_fill index_fill fill_ zero_ masked_fill_ index_fill_ index_put_".split())
"""In-place operators that torch lets write to expanded memory."""
_MASKED = frozenset({"masked_fill_", "index_put_"})
"""Those of them that change every row of it, where one was meant; torch warns."""
_PRODUCTS = frozenset({"einsum", "multi_dot", "chain_matmul"})
"""Operators over a list that save an element for the gradients of the others."""
SAVES = 64
"""The most saves of one memory that are told apart: the first of them speak for the others."""
_COMPARING = frozenset({"sub", "rsub", "eq", "ne", "equal", "allclose", "isclose", "dist", "mse_loss", "l1_loss"})
"""Operators that ask how two tensors differ."""


def run(m: Trace, op: facts.Op, bound: Bindings, site: Site, form: str) -> Value:
    """One operator runs: it saves, overwrites and returns."""
    operands: dict[str, list[Tensor]] = {}
    extra: list[Unknown] = []
    for position, param in enumerate(op.params):
        if param.kind == "other" or (value := bound.get(param.name)) is None:
            continue
        value = m.promote(value) if param.kind == "tensor" and position == 0 else m.see(value)
        if type(value) is Tensor:
            operands[param.name] = [value]
            continue
        operands[param.name] = list(tensors_in(m, value))
        if isinstance(value, List):
            for tensor in operands[param.name]:
                stale.taken(m, value, tensor)
        extra.extend(unknowns(m, value))
    if op.name in _COMPARING and m.state[UPDATES]:
        both = [tensor for name in ("self", "input", "other", "target") for tensor in operands.get(name, ())]
        if len(both) == 2:
            data.compared(m, both[0], both[1])
    if op.name in ("eq", "ne") and _whole_number(bound.get("other", NONE)):
        for tensor in operands.get("self", ()):
            _hold_whole_numbers(m, tensor)
    recording = m.grad_mode and (not op.outs or any(out.differentiable for out in op.outs))
    grads = {name: max(map(m.grad, tensors), default=Grad.NO) for name, tensors in operands.items()}
    for value in extra if recording else ():
        grads["*unknown"] = max(grads.get("*unknown", Grad.NO), m.grad(value))
    grad = max(grads.values(), default=Grad.NO) if recording else Grad.NO

    given = [tensor for tensors in operands.values() for tensor in tensors]
    saves: list[Saved] = []
    needs: frozenset[Cell] = frozenset()
    parents: tuple[Node, ...] = ()
    requiring = {name for name, which in grads.items() if which}
    if grad:
        needs = needs if "*unknown" in requiring else frozenset(t.cell for t in given if m.grad(t))
        nodes = [*(m.cell(tensor).node for tensor in given), *(value.node for value in extra)]
        parents = tuple(dict.fromkeys(node for node in nodes if node is not None))
        for save in op.saves:
            if is_saved(m, save, bound) and not requiring.isdisjoint(save.needs):
                for index, tensor in enumerate(operands.get(save.slot, ())):
                    others = operands[save.slot][:index] + operands[save.slot][index + 1 :]
                    if op.name in _PRODUCTS and not any(m.grad(other) for other in others):
                        continue
                    saves.append(keep(m, op.name, save.slot, tensor.storage, site, needs=needs))
        for tensor in given:
            data.differentiated(m, tensor)
    written = [tensor for name in op.writes for tensor in operands.get(name, ())]
    if op.name == "set_" and m.backward.readonly:
        written = []  # it gives a tensor other memory: a reversible layer brings back an input that it had freed
    if op.name == "copy_":
        for tensor, source in zip(written, operands.get("src", ()), strict=False):
            data.brought_back(m, tensor, source)
    refused = False
    for tensor in written:
        if op.name in _FILLING and tensor.view == "expand":
            saved.write(m, tensor.storage, form, site)
            if op.name in _MASKED:
                m.refuse("expand" if Grad.YES in (m.grad(tensor), grad) else "expanded", site)
        elif any(overlaps(tensor, other) for other in given):
            m.refuse("overlap", site)
        else:
            sources = [other for name, found in operands.items() if name not in op.writes for other in found]
            refused = unbatched(m, tensor, sources, site) or write(m, tensor, form, site, grad) or refused
            if tensor.storage.hidden is not None:
                data.cut_off(m, tensor, sources, site)
    results = [make_result(m, op, out, operands, bound) for out in op.outs]
    if m.alike is not None and len(op.outs) == 1 and op.outs[0].kind == "fresh":
        results = [_alike(m, op, results[0], grad)]
    if m.state[BATCHED] and any(map(m.state[BATCHED].get, given)):
        for tensor in [tensor for result in results for tensor in tensors_in(m, result)]:
            m.state.set(m.state[BATCHED], tensor, True)
    if grad:
        for save in op.saves:
            if save.slot.startswith("result") and is_saved(m, save, bound) and not requiring.isdisjoint(save.needs):
                index = int(save.slot[6:] or 0)
                for tensor in tensors_in(m, results[index]) if index < len(results) else ():
                    saves.append(keep(m, op.name, "result", tensor.storage, site, needs=needs))
        node = Node(op.name, tuple(saves), parents, m.state.guard() if m.alike is not None else ALWAYS)
        if op.writes and not refused:
            returned = {out.of for out in op.outs if out.kind == "same"}
            changed = [t for name in op.writes if name in returned or not op.outs for t in operands.get(name, ())]
            for tensor in changed:
                m.state.put(tensor.cell, CellState(max(m.cell(tensor).grad, grad), node, False))
        shared = {tensor.cell for tensor in given}
        for out, result in zip(op.outs, results, strict=True):
            if out.differentiable and out.kind != "detached" and not to_integers(op, bound):
                for tensor in tensors_in(m, result):
                    if tensor.cell not in shared:
                        tensor.cell.initial = CellState(grad, phi((tensor.cell.initial.node, node)), False)
    return results[0] if len(results) == 1 else Tuple(tuple(results)) if results else NONE


def _alike(m: Trace, op: facts.Op, made: Value, grad: Grad) -> Value:
    """The tensor that stands for the result of an operator, if it was given several values; or ``made`` itself."""
    if m.alike is None or not isinstance(made, Tensor):
        return made
    m.alike.number += 1
    key = (m.alike.number, op.name, grad, made.dims, made.origin, made.lead, made.view, made.contiguous)
    return m.alike.made.setdefault(key, made)


def _whole_number(value: Value) -> bool:
    return isinstance(value, Const) and type(value.value) is int and value.value != 0


def _hold_whole_numbers(m: Trace, tensor: Tensor) -> None:
    """Labels, ids and masks are what is compared with a whole number; if nothing says otherwise, it has no gradient."""
    state = m.cell(tensor)
    if state.grad is Grad.MAYBE:
        m.state.put(tensor.cell, CellState(Grad.NO, None, state.leaf))


def is_saved(m: Trace, save: facts.Save, bound: Bindings) -> bool:
    """Whether this call surely makes this save."""
    return save.sure if save.when is None else holds(m, save.when, bound)


def holds(m: Trace, condition: facts.Condition, bound: Bindings) -> bool:
    """Whether a condition on an option surely holds in this call."""
    known = _literal(m, bound.get(condition.option, NONE))
    return known is not _UNKNOWN and condition.holds(known)


_UNKNOWN: Final = object()


def _literal(m: Trace, value: Value) -> object:
    """Return the Python value behind one that is known: of a sequence of equal items, the item. Or ``_UNKNOWN``."""
    value = m.see(value)
    if isinstance(value, Const):
        return value.value
    if isinstance(value, List) and not m.state.get(value).open:
        value = Tuple(m.state.get(value).items)
    if isinstance(value, Tuple) and value.items:
        items = [_literal(m, item) for item in value.items]
        if _UNKNOWN in items:
            return _UNKNOWN
        return items[0] if all(item == items[0] for item in items) else tuple(items)
    return _UNKNOWN


def keep(
    m: Trace,
    op: str,
    slot: str,
    storage: Storage,
    site: Site,
    possible: bool = False,
    needs: frozenset[Cell] = frozenset(),
) -> Saved:
    """Autograd keeps a tensor for the backward pass, where one of ``needs`` requires grad."""
    packing = m.state.modes.get("packing")
    saved = Saved(op, slot, storage, site, m.state.guard(), tuple(m.stack.calls), packing == "share", possible, needs)
    held = m.state.get(storage)
    if packing != "copy" and len(held) < SAVES:
        m.state.put(storage, held | {saved})
    return saved


def write(m: Trace, tensor: Tensor, form: str, site: Site, grad: Grad = Grad.NO, whole: bool = True) -> bool:
    """A tensor is overwritten in place, from values that require grad as ``grad`` says.

    True where torch refuses: that is noted, and the tensor stays as it is. ``whole`` is False where only one part of it
    is written.
    """
    refused = refusal(m, tensor, grad, form, whole)
    if "style" in m.extra:
        style(m, tensor, form, site)
    if refused or tensor.lead == "row" or (tensor.lead == "windows" and adds_up(site)):
        m.refuse(refused or "expanded", site)
    if not refused:
        if tensor.origin != "cast" or tensor.storage not in m.backward.readonly:
            saved.write(m, tensor.storage, form, site)
        origins.note(m, tensor, form, site)
        data.rescale(m, tensor, site)
    return bool(refused)
