"""Discarded results: ``x.clamp(0, 1)`` as a statement changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..heap.values import Choice, Object, Tensor, Value
from ..program.site import Site
from ..rule import Rule
from ..torchfacts import ops as facts
from ..trace import events
from ..trace.trace import Trace

if TYPE_CHECKING:
    import libcst as cst

RULES = (
    Rule(
        "TIP305",
        "discarded-result",
        "the result of an out-of-place method is thrown away",
        "discarded",
        "changes nothing, and its result is thrown away",
        other="tensor made",
        head="in the function",
        advice="use the in-place method, or the result",
        silent=True,
        at_run_time=False,
        happens="thrown away",
    ),
)


@events.discard.listen
def judge(m: Trace, receiver: Value, name: str, site: Site) -> None:
    """Report ``x.clamp(0, 1)`` if ``x.clamp_(0, 1)`` may be meant, unless the program expects the call to raise."""
    options = [m.see(option) for _, option in receiver.options] if isinstance(receiver, Choice) else [receiver]
    if not m.stack.frames:
        return  # the body of a class, or a statement of a module that is run for one of its names
    expecting = m.stack.frames[-1].tries or m.state.modes.get("expecting")
    tensors = [option for option in options if isinstance(option, Tensor)]
    if expecting or len(tensors) < len(options):
        return
    if name != "requires_grad" and f"{name}_" in facts.inplace_methods() and name in facts.tensor_methods():
        m.refuse("discarded", site, other=_elsewhere(m, tensors[0], site))


def _elsewhere(m: Trace, tensor: Tensor, call: Site) -> Site | None:
    """Return where a tensor was made, or what the call names to get it (`w` in `w.grad`); else the function around."""
    from ..program.wording import mentioned

    frame = m.stack.frames[-1]
    named = [m.see(frame.vars[name]) for name in mentioned(call.expression) if name in frame.vars]
    for value in (tensor, *named):
        place = value.place if isinstance(value, (Tensor, Object)) else None
        if place is not None and not _within(place.expression, call.expression):
            return place
    function = frame.function
    return Site(function.piece, function.node, function.node) if function is not None else None


def _within(node: cst.CSTNode, outer: cst.CSTNode) -> bool:
    from ..program.nodes import parts

    return node is outer or any(_within(node, part) for part in parts(outer))
