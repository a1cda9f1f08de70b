"""Discarded results: ``x.clamp(0, 1)`` as a statement changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..heap.values import Choice, Object, Tensor, Value, is_number
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


_AS_METHOD = {"where": "masked_fill"}
"""Functions that no method has the name of, and the method that does what they do to one of their arguments."""


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


@events.discard_call.listen
def judge_call(m: Trace, name: str, args: list[Value], kwargs: dict[str, Value], site: Site) -> None:
    """Report ``torch.clamp(x, 0, 1)``, too, if the function goes on with ``x``.

    A function without a number among its arguments may be timed. So may one of an ``x`` that only such calls use.
    """
    import libcst as cst

    from ..program.wording import is_used_after

    package, _, last = name.rpartition(".")
    frame, call = m.stack.frames[-1] if m.stack.frames else None, site.expression
    if package != "torch" or "out" in kwargs or frame is None or frame.function is None or type(call) is not cst.Call:
        return
    if not any(is_number(m.see(value)) for value in (*args, *kwargs.values())):
        return
    body = m.text.body(frame.function)[0]
    for value, arg in list(zip(args, call.args, strict=False))[1 if last == "where" else 0 :]:
        tensor = m.see(value)
        if isinstance(tensor, Tensor) and type(arg.value) is cst.Name and not arg.star:
            if frame.line is not None and is_used_after(body, frame.line, arg.value.value, called=False):
                judge(m, tensor, _AS_METHOD.get(last, last), site)
            return


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
