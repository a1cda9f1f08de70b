"""Bans for teams that want them, whether what they name is a hazard or not."""

from __future__ import annotations

from ..heap.values import Grad, Tensor
from ..program.site import Site
from ..rule import Rule
from ..trace import events
from ..trace.log import Written
from ..trace.trace import BATCHED, Trace

FAMILY = "style"


_NEW = "build a new tensor, with `torch.where`, `torch.cat` or `torch.full_like`"
"""What to write instead of a write to a part of a tensor, or of one such as ``fill_``: a clone would be written too."""


def _ban(code: str, name: str, summary: str, kind: str, message: str, advice: str, *also: Rule) -> Rule:
    return Rule(
        code,
        name,
        summary,
        f"style {kind}",
        message,
        "made",
        advice=advice,
        part=_NEW,
        family=FAMILY,
        fix="never",
        also=also,
    )


_AUGMENTED = (
    "TIP903",
    "in-place-augmented",
    "an augmented assignment to a tensor that may require grad",
)
_TO_GRAD = "writes in place to a tensor that may require grad"


RULES = (
    _ban(
        "TIP901",
        "in-place-method",
        "an in-place method or function",
        "op_",
        "writes in place",
        "use {function}",
    ),
    _ban("TIP902", "in-place-argument", "`inplace=True`", "inplace", "writes in place", "drop `inplace=True`"),
    _ban(
        *_AUGMENTED,
        "augmented",
        _TO_GRAD,
        "write `{target} = {target} {operator} ...`",
        _ban(*_AUGMENTED, "augmented part", _TO_GRAD, _NEW),
    ),
    _ban(
        "TIP904",
        "in-place-compiled",
        "an in-place write under vmap, torch.compile or jit.script",
        "compiled",
        "writes in place under vmap, torch.compile or torch.jit.script",
        "use the out-of-place form",
    ),
    _ban(
        "TIP905",
        "no-such-method",
        "an in-place method that tensors do not have",
        "missing",
        "is not a method of a tensor",
        "use the out-of-place form",
    ),
)


@events.attempt.listen
def ban(
    m: Trace, tensor: Tensor, form: str, site: Site, grad: Grad, refused: bool, carries: bool, written: Written
) -> None:
    """What a team may want to ban, whether it is a hazard or not."""
    if FAMILY not in m.extra or form == "out":
        return
    if m.state[BATCHED].get(tensor) or any(function.compiled for function in m.stack.functions):
        m.refuse("style compiled", site, other=tensor.place)
    elif form in ("op_", "inplace") or (form == "augmented" and m.grad(tensor)):
        part = " part" if form == "augmented" and m.stack.part else ""
        m.refuse(f"style {form}{part}", site, other=tensor.place)
