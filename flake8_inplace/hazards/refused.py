"""In-place writes that torch refuses."""

from __future__ import annotations

from collections.abc import Iterable

from ..heap.values import Bindings, Grad, Tensor, Value
from ..program.site import Site
from ..rule import Rule
from ..torchfacts import ops as facts
from ..trace.holdings import tensors_in
from ..trace.trace import BATCHED, Trace

RULES = (
    Rule(
        "TIP201",
        "leaf",
        "an in-place write to a leaf that requires grad",
        "leaf",
        "is an in-place write to a leaf that requires grad, which torch refuses; do it under `torch.no_grad()`",
    ),
    Rule(
        "TIP202",
        "leaf-view",
        "an in-place write to a view of a leaf that requires grad",
        "leaf view",
        "writes to a view of a leaf that requires grad, which torch refuses; do it under `torch.no_grad()`",
    ),
    Rule(
        "TIP203",
        "multi-output-view",
        "an in-place write to an output of split, chunk, unbind or iteration",
        "views",
        "writes to one of several views of a tensor (split, chunk, unbind or iteration), which torch refuses; "
        "index the tensor, or `clone()` the view",
    ),
    Rule(
        "TIP204",
        "expanded",
        "an in-place write to expanded memory",
        "expand",
        "writes to expanded memory, where several elements are one, which torch refuses; `clone()` it first",
        fix="safe",
    ),
    Rule(
        "TIP205",
        "no-grad-view",
        "a view made under no_grad is written with grad mode on",
        "no_grad",
        "writes, with grad mode on, to a view made under `no_grad`, which torch refuses; `clone()` the view",
    ),
    Rule(
        "TIP206",
        "detach-view",
        "`detach_()` on a view",
        "detach",
        "detaches a view in place, which torch refuses; use `detach()`",
        fix="safe",
    ),
    Rule(
        "TIP207",
        "out-with-grad",
        "`out=` with an argument that requires grad",
        "out grad",
        "has `out=` and an argument that requires grad, which torch refuses; let it return a new tensor",
    ),
    Rule(
        "TIP209",
        "backward-hook",
        "an in-place write beside a module with a full backward hook",
        "hook",
        "writes to what goes into or comes out of a module with a full backward hook, which torch refuses; "
        "use the out-of-place form",
    ),
    Rule(
        "TIP210",
        "inference-tensor",
        "a tensor made in inference mode is written outside of it",
        "inference",
        "writes, outside inference mode, to a tensor made inside it, which torch refuses; `clone()` it first",
    ),
    Rule(
        "TIP211",
        "unbatched",
        "a batched value is written to an unbatched tensor under `vmap`",
        "vmap",
        "writes a batched value to a tensor without a batch, which `vmap` refuses; make it with `new_zeros` or "
        "`zeros_like` of a batched one",
        fix="never",
    ),
    Rule(
        "TIP213",
        "custom-function-view",
        "a view that a custom function returned is written in place",
        "custom",
        "writes to a view that a custom function returned, which torch refuses; use the out-of-place form, or "
        "return a `clone()`",
    ),
    Rule(
        "TIP309",
        "expanded-mask",
        "a masked or indexed write to expanded memory changes every row that shares it",
        "expanded",
        "writes to memory that several rows or elements share, and so to all of them, silently; make each of "
        "them a `clone()`",
        at_run_time=False,
    ),
)
LEAF_KINDS = ("leaf", "leaf view")


MIXING = frozenset("mm bmm mv matmul addmm addmv addbmm baddbmm".split())
"""Operators that make each element of many of every operand: ``out`` may be none of them, and torch never asks."""


def in_its_way(m: Trace, op: facts.Op, out: Value, bound: Bindings, site: Site) -> None:
    """``torch.mm(x, y, out=x)`` reads elements of ``x`` that it has overwritten; measured, with what is only added."""
    added = "input" if op.name.startswith(("add", "baddbmm")) else ""
    factors = [value for name, value in bound.items() if name != added]
    read = [tensor for value in factors for tensor in tensors_in(m, value)]
    if isinstance(out, Tensor) and any(
        tensor is out or (tensor.storage is out.storage and "" in (tensor.view, out.view)) for tensor in read
    ):
        m.refuse("shift", site)


def overlaps(tensor: Tensor, other: Tensor) -> bool:
    """Whether a write to ``tensor`` reads the same memory in another order: ``m += m.T``.

    Expanded memory is left alone: what was expanded may be another part of it.
    """
    same = other is not tensor and other.storage is tensor.storage and other.view != "expand"
    return same and other.contiguous != tensor.contiguous


def adds_up(form: str, op: str) -> bool:
    """Whether a write done twice to one element is not the same as done once: ``x *= 2``, ``x.add_(1)``."""
    return form == "augmented" or op in ("add_", "sub_", "mul_", "div_", "square_")


def style(m: Trace, tensor: Tensor, form: str, site: Site) -> None:
    """What a team may want to ban, whether it is a hazard or not."""
    if m.state[BATCHED].get(tensor) or any(function.compiled for function in m.stack.functions):
        m.refuse("style compiled", site)
    elif form in ("op_", "inplace") or (form == "augmented" and m.grad(tensor)):
        m.refuse(f"style {form}", site)


def unbatched(m: Trace, tensor: Tensor, sources: Iterable[Tensor], site: Site) -> bool:
    """Whether batched values are written to a tensor that has no place for the batch, which ``vmap`` refuses."""
    batched = m.state[BATCHED]
    if not batched or batched.get(tensor) or not any(map(batched.get, sources)):
        return False
    m.refuse("vmap", site)
    return True


def refusal(m: Trace, tensor: Tensor, grad: Grad, form: str, whole: bool) -> str:
    """Why torch refuses this in-place write, or an empty string."""
    state = m.cell(tensor)
    if tensor.view == "inference" and not m.state.modes.get("inference"):
        return "inference"
    if tensor.view == "expand" and whole:  # a masked assignment fails in the backward only
        return "expand" if form != "subscript" or Grad.YES in (state.grad, grad) else ""
    if not m.grad_mode:
        return ""
    if tensor.view in ("views", "hook", "custom") and max(state.grad, grad) is Grad.YES:
        return tensor.view
    if state.grad is Grad.YES and state.leaf and state.node is None and tensor.storage.hidden is None:
        return "leaf view" if tensor.view or not whole else "leaf"
    base = tensor.cell.base
    if tensor.view == "no_grad" and Grad.YES in (grad, m.state.get(base).grad if base is not None else Grad.NO):
        return "no_grad"
    return ""
