"""What a program plainly means: predicates that silence a finding. They alone judge by names."""

from __future__ import annotations

from ..heap.values import Choice, Ref
from ..program.scan import GRADIENTS
from ..program.site import Site
from ..trace.frames import Frame
from ..trace.log import Overwrite
from ..trace.reports import Refusal
from ..trace.trace import Trace


def variable_of(site: Site, frame: Frame) -> str:
    """The variable that a write is spelled with, or an empty string."""
    from ..program.wording import written_name

    def is_module(name: str) -> bool:
        scope: Frame | None = frame
        while scope is not None and name not in scope.vars:
            scope = scope.parent
        return scope is not None and isinstance(scope.vars[name], Ref)

    return written_name(site.expression, is_module)


def is_meant(m: Trace, event: Overwrite, name: str, frame: Frame) -> bool:
    """Whether the program writes through the name that it reads, or has no name left for the old value.

    A name that stands for the old tensor on one path and for a copy on another shows that the program knows, and so
    does one that asks whether the two are the same: ``if kept is not written``.
    """
    from ..program.wording import lists, targets, tells_apart

    if event.name != name:
        written = frame.vars.get(event.name)
        if written is None or isinstance(written, Choice):
            return True
        body = m.text.body(frame.function)[0] if frame.function is not None else None
        if event.name in frame.elements and (body is None or event.form != "augmented" or lists(body, name)):
            return True
        return body is not None and tells_apart(body, event.name, name)
    bound = targets(event.line)
    return event.form != "inplace" or not bound or name in bound


def writes_to_attribute(site: Site) -> bool:
    """Whether a write says that it changes what an instance holds: ``self.h[0] = 0``."""
    from ..program.wording import writes_to_attribute

    return writes_to_attribute(site.expression)


def says_in_place(name: str) -> bool:
    """Whether a function is named after what it does to its argument."""
    return (name.endswith("_") and not name.endswith("__")) or "inplace" in name or "in_place" in name


def optional(refusal: Refusal) -> bool:
    """Whether a silent write hangs on an option that is called in-place: who switches that on means it."""
    from ..program.wording import under_test

    site = refusal.write
    if refusal.kind not in ("argument", "saved", "grad_output", "ctx"):
        return False
    return under_test(site.piece.read(), site.expression, lambda name: "inplace" in name)


def settled_elsewhere(m: Trace, misuse: Refusal) -> bool:
    """Whether an error that comes at once, wherever grad mode is on, is in a file that never asks for a gradient.

    It would not have outlived the first such run: whoever calls the function does so with grad mode off. A method that
    writes to a leaf may be new.
    """
    if not misuse.from_outside or misuse.kind not in ("out grad", "leaf", "leaf view"):
        return False
    return not m.text.file.mentions(GRADIENTS if misuse.kind == "out grad" else GRADIENTS | {"Parameter"})
