"""A computed tensor that leaves the graph: ``h = h.detach()`` for ``h.detach_()`` or ``h.requires_grad = False``."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..finding import Fix
from .forms import Form
from .statements import statement_around

DETACHED = ("detached", "freeze")
"""The kinds of findings that this form mends."""


def detached(form: Form) -> Iterator[Fix]:
    """Bind what ``detach()`` returns to the name, if no other way leads to the tensor: it would stay in the graph."""
    module = form.module
    for call in module.of(cst.Call):
        yield from _inside(form, call)
    statements: list[cst.Expr | cst.Assign] = [*module.of(cst.Expr), *module.of(cst.Assign)]
    for statement in statements:
        attribute = _set_by(statement)
        if attribute is None or module.start(attribute.attr) != form.finding.place:
            continue
        if isinstance(attribute.value, cst.Name) and form.readers.reached_by(attribute.value):
            new = f"{attribute.value.value} = {attribute.value.value}.detach()"
            yield Fix(f"write `{new}`", False, (module.replaced(statement, new),))


def _inside(form: Form, call: cst.Call) -> Iterator[Fix]:
    """``self.h = h.detach_()``, where ``h`` is not read again."""
    name, statement = call.func, statement_around(form.module, call)
    if not isinstance(name, cst.Attribute) or form.module.start(name.attr) != form.finding.place:
        return
    if not isinstance(statement, cst.Assign) or statement.value is not call or not isinstance(name.value, cst.Name):
        return
    if form.readers.reached_by(name.value) and not form.readers.read_after(name.value, statement):
        yield Fix("use `detach()`", False, (form.module.replaced(name.attr, "detach"),))


def _set_by(statement: cst.Expr | cst.Assign) -> cst.Attribute | None:
    """``h.detach_`` of ``h.detach_()``, ``h.requires_grad`` of ``h.requires_grad = False``."""
    target: cst.CSTNode | None = None
    if isinstance(statement, cst.Assign):
        target = statement.targets[0].target if len(statement.targets) == 1 else None
    elif isinstance(statement.value, cst.Call):
        target = statement.value.func
    return target if isinstance(target, cst.Attribute) else None
