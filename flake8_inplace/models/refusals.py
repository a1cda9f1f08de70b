"""In-place writes that torch refuses: whether, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..heap.regions import is_dense, plain, same_tensor, takes_one, takes_stretch, unshaped
from ..heap.state import Declared, same_or_none
from ..heap.values import NONE, UNCERTAIN, Bindings, Dimension, Grad, Region, Tensor, Value, View, constant
from ..program.site import Site
from ..torchfacts import kinds
from ..torchfacts import ops as facts
from ..torchfacts import refusals as measured
from ..trace import events
from ..trace.holdings import depth_of, tensors_in
from ..trace.trace import BATCHED, Trace

_REPEATING = frozenset({"index_put_"})
"""Operators that may repeat an operand to fill what they overwrite: what is repeated is not refused."""
MIXING = frozenset("mm bmm mv matmul addmm addmv addbmm baddbmm".split())
"""Operators that make each element of many of every operand: ``out`` may be none of them, and torch never asks."""
RESTRIDED: Declared[Tensor, bool | None] = Declared(same_or_none)
"""Whether several elements of a tensor are one in memory since ``as_strided_`` gave it other strides."""
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


def is_reordered(tensor: Tensor, other: Tensor) -> bool:
    """Whether a write to ``tensor`` reads the elements that it overwrites in another order: ``m += m.T``.

    Expanded memory is left alone: what was expanded may be another part of it.
    """
    if other is tensor or other.storage is not tensor.storage or View.EXPANDED in (tensor.view, other.view):
        return False
    return other.contiguous != tensor.contiguous and _meet(tensor, other)


def overlaps(tensor: Tensor, other: Tensor) -> bool:
    """Whether PyTorch refuses such a write. It asks only where both fill one stretch of memory: not ``m[:2, :2]``."""
    every = [region for each in (tensor, other) for region in _regions(each)]
    return is_reordered(tensor, other) and all(takes_stretch(region.index) for region in every)


def shares_memory(op: str, tensor: Tensor, operands: Mapping[str, Sequence[Tensor]]) -> bool:
    """Whether an in-place operator is given an operand in the memory it overwrites, where it may have none there."""
    given = [(name, operand) for name, found in operands.items() for operand in found]
    return any(
        measured.refuses_overlap(op, name) and lies_in(tensor, operand)
        for name, operand in given
        if op not in _REPEATING or not _is_spread(operand)
    )


def lies_in(tensor: Tensor, operand: Tensor) -> bool:
    """Whether two tensors surely have elements in common, as PyTorch can tell: both fill one stretch of memory."""
    if operand is tensor:
        return True
    if operand.storage is not tensor.storage or any(one.origin in UNCERTAIN for one in (tensor, operand)):
        return False
    return _meet(tensor, operand) and _is_dense(tensor) and _is_dense(operand)


def _meet(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors surely have elements in common: one is a part of the other, or both are the same part."""
    inside = any(same_tensor(one, region.base) for region in _regions(other))
    around = any(same_tensor(other, region.base) for region in _regions(one))
    return inside or around or same_tensor(unshaped(one), unshaped(other))


def _regions(tensor: Tensor) -> Iterator[Region]:
    """The parts that a view was taken from, the innermost first."""
    while (region := tensor.region) is not None:
        yield region
        tensor = region.base


def _is_dense(tensor: Tensor) -> bool:
    """Whether a tensor surely fills one stretch of memory; a new shape of what does fills it as well."""
    while tensor.region is not None and tensor.region.reshaped and tensor.view is not View.EXPANDED:
        tensor = tensor.region.base
    return tensor.view is not View.EXPANDED and is_dense(tensor) is True


def _is_spread(value: Tensor) -> bool:
    """Whether a part is one row or element, which may be repeated: ``x[0]``."""
    return any(takes_one(item) for region in _regions(value) for item in plain(region.index))


def spoils(m: Trace, op: facts.Op, tensor: Tensor, bound: Bindings, grad: Grad) -> str:
    """What goes wrong after a write to expanded memory that PyTorch lets through; an empty string if nothing does."""
    view = tensor.view is View.EXPANDED  # not where ``as_strided_`` has changed the tensor itself
    differentiable = view and m.grad_mode and Grad.YES in (m.grad(tensor), grad)
    if differentiable and measured.backward_refuses_expanded(op.name):
        return "expand"
    return "expanded" if _spoils_rows(m, op, tensor, bound) else ""


def _spoils_rows(m: Trace, op: facts.Op, tensor: Tensor, bound: Bindings) -> bool:
    """Whether an operator that is given a mask, or rows, changes others of expanded memory too."""
    if not measured.spoils_expanded(op):
        return False
    if "dim" not in bound:
        return True
    dim = constant(m.see(bound["dim"]))
    return Dimension.EXPANDED in [tensor.lead] * (dim == 0) + [tensor.tail] * (dim == -1)


def lacks_derivative(m: Trace, op: facts.Op, bound: Bindings) -> bool:
    """Whether the backward of an in-place operator raises for the arguments that it is given.

    It was measured with its switches off; where one may be on, nothing is known.
    """
    if measured.without_derivative(op.name):
        return True
    options = measured.negative_options(op.name)
    values = [constant(m.see(bound.get(option, NONE))) for option in options]
    negative = [isinstance(value, (int, float)) and value < 0 for value in values]
    switched = [constant(m.see(value)) for name, value in bound.items() if name == "training"]
    return bool(options) and all(negative) and not any(value is not False for value in switched)


def into(m: Trace, op: facts.Op, out: Tensor, bound: Bindings, site: Site) -> bool:
    """Whether torch refuses to write the result of an operator into ``out``, for the memory that this is."""
    kind = ""
    given = [(name, tensor) for name, value in bound.items() for tensor in tensors_in(m, m.see(value))]
    sources = [tensor for name, tensor in given if measured.out_refuses_overlap(op.name, name)]
    if out.storage.inference and not m.state.modes.get("inference"):
        kind = "inference"
    elif is_expanded(m, out) and measured.out_refuses_expanded(op.name):
        kind = "expand"
    elif any(overlaps(out, source) for source in sources):
        kind = "overlap"
    if kind:
        m.refuse(kind, site, depth=depth_of(m, out), other=out)
    elif sources:
        events.operate(m, kinds.plain(op.name), out, sources, NONE, site)
    return bool(kind)


def adds_up(form: str, op: str) -> bool:
    """Whether a write done twice to one element is not the same as done once: ``x *= 2``, ``x.add_(1)``."""
    return form == "augmented" or op in ("add_", "sub_", "mul_", "div_", "square_")


def unbatched(m: Trace, tensor: Tensor, sources: Iterable[Tensor], site: Site) -> bool:
    """Whether batched values are written to a tensor that has no place for the batch, which ``vmap`` refuses."""
    batched = m.state[BATCHED]
    if not batched or batched.get(tensor) or not any(map(batched.get, sources)):
        return False
    m.refuse("vmap", site, other=tensor)
    return True


def is_expanded(m: Trace, tensor: Tensor) -> bool:
    """Whether several elements of a tensor are one in memory."""
    restrided = m.state[RESTRIDED].get(tensor)
    return tensor.view is View.EXPANDED if restrided is None else restrided


def is_leaf(m: Trace, tensor: Tensor) -> bool:
    """Whether a tensor is a leaf that requires grad, which PyTorch lets nobody overwrite in grad mode."""
    state = m.cell(tensor)
    return state.grad is Grad.YES and state.leaf and state.node is None and tensor.storage.hidden is None


def refusal(m: Trace, tensor: Tensor, grad: Grad, form: str, whole: bool) -> str:
    """Why torch refuses this in-place write, or an empty string."""
    state = m.cell(tensor)
    if tensor.storage.inference and not m.state.modes.get("inference"):
        return "inference"
    if is_expanded(m, tensor) and whole:  # a masked assignment fails in the backward only
        return "expand" if form != "subscript" or Grad.YES in (state.grad, grad) else ""
    if not m.grad_mode:
        return ""
    if tensor.view in REFUSED_VIEWS and max(state.grad, grad) is Grad.YES:
        return REFUSED_VIEWS[tensor.view]
    if is_leaf(m, tensor):
        return "leaf view" if tensor.view is not View.NONE or not whole else "leaf"
    base = tensor.cell.base
    if tensor.view is View.NO_GRAD and Grad.YES in (grad, m.state.get(base).grad if base is not None else Grad.NO):
        return "no_grad"
    return ""
