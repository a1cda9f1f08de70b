"""Values that require grad, written to a tensor of integers."""

from __future__ import annotations

from ..heap.autograd import routes
from ..heap.values import DType, Grad, Ref, Source, Tensor
from ..program.site import Site
from ..rule import Rule
from ..torchfacts.kinds import STEPPING
from ..trace import events
from ..trace.log import Written
from ..trace.trace import Trace

RULES = (
    Rule(
        "TIP314",
        "integer-target",
        "a value that requires grad is written to a tensor of integers",
        "integers",
        "writes a computed value to integers",
        other="made",
        effect="gradient silently lost",
        advice="make it a tensor of floats",
        fix="never",
        silent=True,
        at_run_time=False,
    ),
)


@events.overwrite.listen
def judge(m: Trace, tensor: Tensor, form: str, site: Site, written: Written) -> None:
    """Report ``counts[i] = score`` and ``counts.copy_(scores)``, where the scores require grad.

    Only if nothing says that integers are wanted: a type that the program names, or a value that it rounded.
    """
    base = tensor.region.base if tensor.region is not None else tensor
    if base.dtype is not DType.INTEGRAL or written.op not in ("setitem", "copy_") or not m.grad_mode:
        return
    value = m.see(written.values[0])
    if not isinstance(value, Tensor) or m.grad(value) is not Grad.YES or not _typed_by_values(base):
        return
    if _has_history(m, value) and not _is_rounded(m, value):
        m.refuse("integers", site, other=base.place)


def _has_history(m: Trace, tensor: Tensor) -> bool:
    """Whether a gradient of a tensor leads to a leaf on the present path.

    A result that stands for several options, and that of a call that is not read, may have one from another path.
    """
    sources = list(m.sources(tensor))
    visited = [node for node, _ in routes(sources, m.state.guard())]
    known = any(cell is not None for node in visited for cell in node.leaves)
    return not sources or known or any(node.leaves and not node.parents for node in visited)


def _is_rounded(m: Trace, tensor: Tensor) -> bool:
    """Return whether a tensor, or what it is a part of, was rounded."""
    whole = tensor.region.base if tensor.region is not None else tensor
    if whole.made is not None and whole.made.op == "index" and isinstance(base := m.see(whole.made.values[0]), Tensor):
        return _is_rounded(m, base)
    return whole.made is not None and whole.made.op in STEPPING


def _typed_by_values(tensor: Tensor) -> bool:
    """Return whether a new tensor has the type of what it was filled with: ``torch.full((3,), 0)``."""
    made = tensor.made
    if made is None or not (tensor.origin is Source.BLANK or made.op == "tensor"):
        return False
    return not any(isinstance(value, Ref) for value in made.values)
