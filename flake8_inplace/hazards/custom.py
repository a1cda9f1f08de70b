"""Custom autograd functions that overwrite tensors which autograd or other code still needs."""

from __future__ import annotations

from collections.abc import Sequence

from ..heap.values import NONE, Grad, Tensor, Value, View
from ..program.site import Site
from ..rule import Rule
from ..trace import events
from ..trace.log import since
from ..trace.trace import Trace

_DIRTY_OUTPUT = (
    "TIP405",
    "dirty-output",
    "an input marked dirty that the function doesn't return, or a view beside other results",
)
RULES = (
    Rule(
        "TIP401",
        "dirty-input",
        "a custom forward overwrites its input without `mark_dirty`",
        "dirty",
        "overwrites an input not marked dirty",
        other="called",
        head="backward",
        effect="autograd keeps the old history",
        advice="call `ctx.mark_dirty`",
        at_run_time=False,
    ),
    Rule(
        "TIP402",
        "grad-output",
        "a custom backward, or a hook, overwrites the gradient that it was given",
        "grad_output",
        "overwrites a shared gradient",
        other="received",
        effect="gradient silently wrong",
        advice="compute a new tensor",
        at_run_time=False,
    ),
    Rule(
        "TIP403",
        "saved-in-backward",
        "a custom backward overwrites an input or result of its forward",
        "saved",
        "overwrites a tensor of the forward",
        other="in the backward",
        effect="silently wrong",
        advice="compute a new tensor",
        at_run_time=False,
    ),
    Rule(
        *_DIRTY_OUTPUT,
        "dirty result",
        "marks an input dirty and doesn't return it",
        other="result made",
        effect="PyTorch raises",
        advice="return the input, or overwrite a `clone()`",
        fix="never",
        happens="marked",
        also=(
            Rule(
                *_DIRTY_OUTPUT,
                "dirty view",
                "marks a view dirty and returns another result too",
                other="view made",
                effect="PyTorch raises",
                advice="return the view alone, or overwrite a `clone()`",
                fix="never",
                happens="marked",
            ),
        ),
    ),
)


@events.mark_dirty.listen
def judge_marked(m: Trace, tensors: Sequence[Tensor], results: Sequence[Tensor], site: Site) -> None:
    """Report what PyTorch refuses of inputs that are marked dirty."""
    for tensor in tensors:
        state = m.cell(tensor)
        several = len(results) > 1 and tensor.view is not View.NONE and state.grad is Grad.YES
        if not any(result is tensor for result in results):
            m.refuse("dirty result", site, other=results[0] if results else tensor)
        elif several:
            m.refuse("dirty view", site, other=tensor)
        elif tensor.view is View.MULTI_OUTPUT and state.grad is Grad.YES:
            m.refuse("views", site, other=tensor)
        elif state.grad is Grad.YES and state.leaf and state.node is None:
            m.refuse("leaf", site, other=tensor)


@events.differentiate.listen
def judge_inputs(
    m: Trace, inputs: Sequence[Sequence[Tensor]], grads: Sequence[Value], dirty: Sequence[Tensor], begin: int
) -> None:
    """Report the inputs that a custom forward has overwritten since ``begin``, if its backward has gradients for them.

    Inputs marked dirty get a new history. Memory that the forward filled first is its output.
    """
    marked = {tensor.storage for tensor in dirty}
    for tensors, grad in zip(inputs, grads, strict=False):
        for tensor in tensors if m.see(grad) != NONE else ():
            for event in since(m, tensor, begin) if tensor.storage not in marked else ():
                if not event.filled:
                    m.refuse("dirty", event.site, guard=event.guard, other=m.here() or m.backward.place)
