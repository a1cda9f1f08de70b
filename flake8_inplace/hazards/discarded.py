"""Discarded results: ``x.clamp(0, 1)`` as a statement changes nothing."""

from __future__ import annotations

from ..heap.values import Choice, Tensor, Value
from ..program.site import Site
from ..rule import Rule
from ..torchfacts import ops as facts
from ..trace import events
from ..trace.trace import Trace

RULES = (
    Rule(
        "TIP305",
        "discarded-result",
        "the result of an out-of-place method is thrown away",
        "discarded",
        "changes nothing, and its result is thrown away",
        other="made",
        advice="use the in-place method, or the result",
        silent=True,
        at_run_time=False,
    ),
)


@events.discard.listen
def judge(m: Trace, receiver: Value, name: str, site: Site) -> None:
    """Report ``x.clamp(0, 1)`` if ``x.clamp_(0, 1)`` may be meant, unless the program expects the call to raise."""
    options = [m.see(option) for _, option in receiver.options] if isinstance(receiver, Choice) else [receiver]
    expecting = m.stack.frames[-1].tries or m.state.modes.get("expecting")
    tensors = [option for option in options if isinstance(option, Tensor)]
    if expecting or len(tensors) < len(options):
        return
    if name != "requires_grad" and f"{name}_" in facts.inplace_methods() and name in facts.tensor_methods():
        m.refuse("discarded", site, other=tensors[0].place)
