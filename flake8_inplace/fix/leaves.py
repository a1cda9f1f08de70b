"""A leaf that is meant to change, such as a parameter that is initialised: the write under `torch.no_grad()`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..finding import Edit, Fix, Place
from ..hazards.refused import LEAF_KINDS
from .facts import Fact
from .scope import scope_around
from .statements import imports
from .syntax import Module


def under_no_grad(
    module: Module, form: str, fact: Fact | None, root: cst.BaseExpression, statement: cst.BaseSmallStatement
) -> Iterator[Fix]:
    """The write with gradients switched off. Gradients do not flow through it, so it is tried last.

    Not where what is written has a gradient of more than the leaf, and may be wanted: it would be lost without a word.
    """
    part = form == "views" and fact is not None and fact.part_of_leaf and fact.numbers
    if not (form in LEAF_KINDS or part) or isinstance(statement, cst.Return):
        return  # what is returned is a value
    if fact is not None and (fact.feeds or part) and _computes_with(module, root, statement):
        return
    if not imports(module, "torch"):
        return
    held = isinstance(root, cst.Name) and scope_around(module, statement).holds_parameter(root.value)
    leaf = fact is not None and (fact.leaf or fact.part_of_leaf)
    if isinstance(root, cst.Name) and not held and not leaf:
        return  # any other tensor is a value, and a value wants its gradient
    if edits := _indented(module, statement, "with torch.no_grad():"):
        yield Fix("write under `torch.no_grad()`", False, tuple(edits))


def _indented(module: Module, statement: cst.BaseSmallStatement, head: str) -> list[Edit]:
    """The edits that put a statement under a head; none if it has no lines of its own, or a text of several lines."""
    line = module.parents[statement]
    start, end = module.start(statement), module.end(statement)
    lines = module.tree.code.split("\n")[start.line - 1 : end.line]
    indent = lines[0][: start.column]
    alone = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
    if not alone or any('"""' in row or "'''" in row or row.endswith("\\") for row in lines):
        return []
    deeper = indent + (module.tree.default_indent if "\t" not in indent else "\t")
    edits = [Edit(start, start, f"{head}\n{deeper}")]
    edits += [
        Edit(Place(number, 0), Place(number, 0), deeper[len(indent) :])
        for number in range(start.line + 1, end.line + 1)
        if lines[number - start.line].strip()
    ]
    return edits


def _computes_with(module: Module, root: cst.BaseExpression, statement: cst.BaseSmallStatement) -> bool:
    """Whether a leaf is read behind the write: what cannot be followed here may be, ``self.bank`` by anybody."""
    scope = scope_around(module, statement)
    return not isinstance(root, cst.Name) or scope.computes_with(root.value, module.start(statement).line)
