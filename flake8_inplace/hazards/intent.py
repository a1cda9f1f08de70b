"""What a program plainly means: predicates that silence a finding."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from ..heap.values import Choice
from ..program.nodes import parts
from ..program.scan import GRADIENTS
from ..trace.frames import Frame
from ..trace.reports import Refusal
from ..trace.trace import Trace
from .log import Event
from .text import mentioned


def is_meant(m: Trace, event: Event, name: str, frame: Frame) -> bool:
    """Whether the program writes through the name that it reads, or has no name left for the old value.

    A name that stands for the old tensor on one path and for a copy on another shows that the program knows, and so
    does one that asks whether the two are the same: ``if kept is not written``.
    """
    if event.name != name:
        written = frame.vars.get(event.name)
        if written is None or isinstance(written, Choice):
            return True
        body = m.text.body(frame.function)[0] if frame.function is not None else None
        if event.name in frame.elements and (body is None or event.form != "augmented" or _lists(body, name)):
            return True
        return body is not None and _tells_apart(body, event.name, name)
    targets = event.line.targets if isinstance(event.line, cst.Assign) else ()
    bound = [target.target.value for target in targets if isinstance(target.target, cst.Name)]
    return event.form != "inplace" or not bound or name in bound


def _lists(node: cst.CSTNode, name: str) -> bool:
    """Whether a text puts a variable into a list, or loops over a tuple with it: it means to reach it there."""
    held: Sequence[cst.CSTNode] = ()
    if isinstance(node, cst.List):
        held = [element.value for element in node.elements]
    elif isinstance(node, cst.For) and isinstance(node.iter, cst.Tuple):
        held = [element.value for element in node.iter.elements]
    elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "append":
        held = [arg.value for arg in node.args]
    found = any(isinstance(part, cst.Name) and part.value == name for part in held)
    return found or any(_lists(child, name) for child in parts(node))


def _tells_apart(node: cst.CSTNode, written: str, read: str) -> bool:
    """Whether a text asks whether two names are one, or makes them one to write: ``out = x if inplace else ...``."""
    if isinstance(node, cst.Attribute) and node.attr.value in _IDENTIFYING and isinstance(node.value, cst.Name):
        return node.value.value in (written, read)
    if isinstance(node, cst.Assign) and isinstance(node.value, cst.IfExp):
        arms = [arm.value for arm in (node.value.body, node.value.orelse) if isinstance(arm, cst.Name)]
        bound = [target.target.value for target in node.targets if isinstance(target.target, cst.Name)]
        if written in bound and read in arms:
            return True
    if isinstance(node, cst.Comparison) and isinstance(node.comparisons[0].operator, _IDENTITIES):
        sides = (node.left, node.comparisons[0].comparator)
        if {_identified(side) for side in sides} == {written, read}:
            return True
    return any(_tells_apart(child, written, read) for child in parts(node))


_IDENTITIES = (cst.Is, cst.IsNot, cst.Equal, cst.NotEqual)


def _identified(node: cst.BaseExpression) -> str:
    """The variable whose identity an expression is: ``x`` beside ``is``, or ``id(x)``."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "id" and node.args:
        node = node.args[0].value
    return node.value if isinstance(node, cst.Name) else ""


_IDENTIFYING = frozenset({"_version", "data_ptr", "untyped_storage"})


def says_in_place(name: str) -> bool:
    """Whether a function is named after what it does to its argument."""
    return (name.endswith("_") and not name.endswith("__")) or "inplace" in name or "in_place" in name


def optional(refusal: Refusal) -> bool:
    """Whether a silent write hangs on an option that is called in-place: who switches that on means it."""
    site = refusal.write
    if refusal.kind not in ("argument", "saved", "grad_output", "ctx"):
        return False
    return _asks(site.expression) or _within(site.piece.read(), site.expression, asked=False)


def _within(node: cst.CSTNode, wanted: cst.CSTNode, asked: bool) -> bool:
    if node is wanted:
        return asked
    asked = asked or (isinstance(node, (cst.If, cst.IfExp)) and _says_inplace(node.test))
    return any(_within(part, wanted, asked) for part in parts(node))


def _asks(node: cst.CSTNode) -> bool:
    return (isinstance(node, cst.IfExp) and _says_inplace(node.test)) or any(map(_asks, parts(node)))


def _says_inplace(node: cst.CSTNode) -> bool:
    return any("inplace" in name for name in mentioned(node))


def settled_elsewhere(m: Trace, misuse: Refusal) -> bool:
    """Whether an error that comes at once, wherever grad mode is on, is in a file that never asks for a gradient.

    It would not have outlived the first such run: whoever calls the function does so with grad mode off. A method that
    writes to a leaf may be new.
    """
    if not misuse.from_outside or misuse.kind not in ("out", "leaf", "leaf view"):
        return False
    return not m.text.file.mentions(GRADIENTS if misuse.kind == "out" else GRADIENTS | {"Parameter"})
