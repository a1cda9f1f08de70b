"""Names of one tensor, of which a fix must not take the wrong one: ``m = self.m``, where others have it as well."""

from __future__ import annotations

from collections.abc import Set

import libcst as cst

from ..finding import Place
from .facts import ELEMENT, ELEMENTS, ELSEWHERE, OTHER_ELEMENT, Fact
from .scope import Scope, scope_around
from .statements import rebinds, statement_around, writers
from .syntax import Module, bound, dotted, root_of


def is_taken_out(scope: Scope, name: str, moment: cst.CSTNode, fact: Fact | None, readers: Set[str]) -> bool:
    """Whether a new tensor under a name would leave an instance, a container or a function with the old values.

    ``readers`` are the ways by which those are read that are to stay, such as ``old`` of ``old = self.m``.
    """
    if fact is None:
        return False
    if any("dict" in fact.kinds.get(other, ()) for other in fact.names - readers):
        return True
    named = readers - {ELEMENT, ELEMENTS, OTHER_ELEMENT, ELSEWHERE}
    if fact.computed or not named or name in named:
        return False
    source = _source(scope, name, moment)
    return source is not None and "tensor" not in fact.kinds.get(dotted(source), ())


def is_named_twice(module: Module, place: Place) -> bool:
    """Whether what is written gets another name, and is read by its own as well: ``y = x.ge_(0)``, then ``x * y``."""
    for write, target in writers(module, place):
        statement, root = statement_around(module, write), root_of(target)
        if isinstance(statement, cst.Assign) and module.spans(statement.value, place) and isinstance(root, cst.Name):
            scope = scope_around(module, statement)
            again = scope.binds(root.value) and scope.read_after(root.value, statement)
            return again and not rebinds(statement, root)
    return False


def _source(scope: Scope, name: str, moment: cst.CSTNode) -> cst.BaseExpression | None:
    """What a name was taken out of: ``self`` of ``m = self.m``, the call of ``m, v = self.moments()``."""
    found = scope.bound_last(name, moment)
    assign = statement_around(scope.module, found) if found is not None else None
    if not isinstance(assign, cst.Assign):
        return None
    target = assign.targets[0].target
    value = next((given for part, given in bound(target, assign.value) if part is found), None)
    if isinstance(value, (cst.Attribute, cst.Subscript)):
        return value.value
    return value if value is assign.value and isinstance(value, cst.Call) and isinstance(target, cst.Tuple) else None
