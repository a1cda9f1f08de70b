"""In-place writes that PyTorch refuses, or that change more elements than intended: `models.refusals` detects them.

A refused write changes nothing, so models have to know about it, and the rules are all that is here.
"""

from __future__ import annotations

from ..heap.values import Grad, Tensor
from ..program.site import Site
from ..program.units import Triggers
from ..rule import Rule
from ..trace import events
from ..trace.holdings import depth_of
from ..trace.trace import Trace

RULES = (
    Rule(
        "TIP201",
        "leaf",
        "an in-place write to a leaf that requires grad",
        "leaf",
        "writes to a leaf that requires grad",
        other="made",
        effect="PyTorch raises",
        advice="write under `torch.no_grad()`",
        carrying="write to a `clone()`, through which the gradient of what is written flows too",
    ),
    Rule(
        "TIP202",
        "leaf-view",
        "an in-place write to a view of a leaf that requires grad",
        "leaf view",
        "writes to a view of a leaf that requires grad",
        other="made",
        effect="PyTorch raises",
        advice="write under `torch.no_grad()`",
        carrying="write to a `clone()`, or build the tensor of its parts",
    ),
    Rule(
        "TIP203",
        "multi-output-view",
        "an in-place write to an output of split, chunk, unbind or iteration",
        "views",
        "writes to one of several views of a tensor",
        other="made",
        effect="PyTorch raises",
        advice="index the tensor, or `clone()` the view",
    ),
    Rule(
        "TIP204",
        "expanded",
        "an in-place write to expanded memory",
        "expand",
        "writes to expanded memory",
        other="expanded",
        effect="PyTorch raises",
        advice="`clone()` it first",
        fix="safe",
    ),
    Rule(
        "TIP205",
        "no-grad-view",
        "a view made under no_grad is written with grad mode on",
        "no_grad",
        "writes, in grad mode, to a `no_grad` view",
        other="made",
        effect="PyTorch raises",
        advice="`clone()` the view",
    ),
    Rule(
        "TIP206",
        "detach-view",
        "`detach_()` on a view",
        "detach",
        "detaches a view in place",
        other="made",
        effect="PyTorch raises",
        advice="use `detach()`",
        fix="safe",
        happens="detached",
    ),
    Rule(
        "TIP207",
        "out-with-grad",
        "`out=` with an argument that requires grad",
        "out grad",
        "has `out=` and an argument that requires grad",
        other="made",
        effect="PyTorch raises",
        advice="let it return a new tensor",
    ),
    Rule(
        "TIP209",
        "backward-hook",
        "an in-place write beside a module with a full backward hook",
        "hook",
        "writes to a tensor under a full backward hook",
        other="made",
        effect="PyTorch raises",
        advice="use the out-of-place form",
    ),
    Rule(
        "TIP210",
        "inference-tensor",
        "a tensor made in inference mode is written outside of it",
        "inference",
        "writes to an inference tensor outside inference mode",
        other="made",
        effect="PyTorch raises",
        advice="`clone()` it first",
    ),
    Rule(
        "TIP211",
        "unbatched",
        "a batched value is written to an unbatched tensor under `vmap`",
        "vmap",
        "writes a batched value to an unbatched tensor",
        other="made",
        effect="`vmap` raises",
        advice="make it with `new_zeros` of a batched tensor",
        fix="never",
    ),
    Rule(
        "TIP213",
        "custom-function-view",
        "a view that a custom function returned is written in place",
        "custom",
        "writes to a view that a custom function returned",
        other="returned",
        effect="PyTorch raises",
        advice="use the out-of-place form, or return a `clone()`",
    ),
    Rule(
        "TIP214",
        "frozen-result",
        "`requires_grad` of a computed tensor is set to False",
        "freeze",
        "unsets `requires_grad` of a computed tensor",
        other="computed",
        effect="PyTorch raises",
        advice="use `detach()`",
        happens="unset",
    ),
    Rule(
        "TIP215",
        "refuses-grad",
        "an in-place method that may not change a tensor that requires grad",
        "no grad allowed",
        "is not allowed on a tensor that requires grad",
        other="made",
        effect="PyTorch raises",
        advice="change a `detach()` of it, or a new tensor",
        fix="never",
    ),
    Rule(
        "TIP309",
        "expanded-mask",
        "a masked or indexed write to expanded memory changes every row that shares it",
        "expanded",
        "writes to memory that several elements share",
        other="made",
        effect="silently wrong",
        advice="`clone()` it first",
        at_run_time=False,
    ),
)
LEAF_KINDS = ("leaf", "leaf view")
TRIGGERS = Triggers(
    frozenset({"requires_grad_", "requires_grad=", "as_strided_"}), frozenset({"vmap", "inference_mode"})
)


@events.requires_grad.listen
def freeze(m: Trace, tensor: Tensor, value: bool, site: Site) -> None:
    """Report ``h.requires_grad_(False)`` on a computed tensor: only a leaf may change it."""
    state = m.cell(tensor)
    if not value and state.grad is Grad.YES and state.node is not None:
        m.refuse("freeze", site, depth=depth_of(m, tensor), other=tensor.place)
