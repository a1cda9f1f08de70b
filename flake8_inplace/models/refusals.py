"""In-place writes that torch refuses: whether, and why."""

from __future__ import annotations

from collections.abc import Iterable

from ..heap.values import Bindings, Grad, Tensor, Value, View
from ..program.site import Site
from ..torchfacts import ops as facts
from ..trace.holdings import tensors_in
from ..trace.trace import BATCHED, Trace

MIXING = frozenset("mm bmm mv matmul addmm addmv addbmm baddbmm".split())
"""Operators that make each element of many of every operand: ``out`` may be none of them, and torch never asks."""
REFUSED_VIEWS = {View.MULTI_OUTPUT: "views", View.BACKWARD_HOOK: "hook", View.CUSTOM: "custom"}
"""Views that may not be written while they require grad, and the kind of misuse that a write is."""


def in_its_way(m: Trace, op: facts.Op, out: Value, bound: Bindings, site: Site) -> None:
    """``torch.mm(x, y, out=x)`` reads elements of ``x`` that it has overwritten; measured, with what is only added."""
    added = "input" if op.name.startswith(("add", "baddbmm")) else ""
    factors = [value for name, value in bound.items() if name != added]
    read = [tensor for value in factors for tensor in tensors_in(m, value)]
    if isinstance(out, Tensor) and any(
        tensor is out or (tensor.storage is out.storage and View.NONE in (tensor.view, out.view)) for tensor in read
    ):
        m.refuse("shift", site, other=out.place)


def overlaps(tensor: Tensor, other: Tensor) -> bool:
    """Whether a write to ``tensor`` reads the same memory in another order: ``m += m.T``.

    Expanded memory is left alone: what was expanded may be another part of it.
    """
    same = other is not tensor and other.storage is tensor.storage and other.view is not View.EXPANDED
    return same and other.contiguous != tensor.contiguous


def adds_up(form: str, op: str) -> bool:
    """Whether a write done twice to one element is not the same as done once: ``x *= 2``, ``x.add_(1)``."""
    return form == "augmented" or op in ("add_", "sub_", "mul_", "div_", "square_")


def unbatched(m: Trace, tensor: Tensor, sources: Iterable[Tensor], site: Site) -> bool:
    """Whether batched values are written to a tensor that has no place for the batch, which ``vmap`` refuses."""
    batched = m.state[BATCHED]
    if not batched or batched.get(tensor) or not any(map(batched.get, sources)):
        return False
    m.refuse("vmap", site, other=tensor.place)
    return True


def refusal(m: Trace, tensor: Tensor, grad: Grad, form: str, whole: bool) -> str:
    """Why torch refuses this in-place write, or an empty string."""
    state = m.cell(tensor)
    if tensor.view is View.INFERENCE and not m.state.modes.get("inference"):
        return "inference"
    if tensor.view is View.EXPANDED and whole:  # a masked assignment fails in the backward only
        return "expand" if form != "subscript" or Grad.YES in (state.grad, grad) else ""
    if not m.grad_mode:
        return ""
    if tensor.view in REFUSED_VIEWS and max(state.grad, grad) is Grad.YES:
        return REFUSED_VIEWS[tensor.view]
    if state.grad is Grad.YES and state.leaf and state.node is None and tensor.storage.hidden is None:
        return "leaf view" if tensor.view is not View.NONE or not whole else "leaf"
    base = tensor.cell.base
    if tensor.view is View.NO_GRAD and Grad.YES in (grad, m.state.get(base).grad if base is not None else Grad.NO):
        return "no_grad"
    return ""
