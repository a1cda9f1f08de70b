"""Where a function binds a name, and where it reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from ..finding import Place
from .statements import statement_around
from .syntax import (
    Module,
    keeps,
    last_name,
    mentions,
    root_of,
    walk,
)


@dataclass
class Scope:
    """A function, or the module: where it binds a name, and where it reads it."""

    module: Module
    node: cst.FunctionDef | cst.Module
    names: dict[str, list[cst.Name]] = field(init=False)

    def __post_init__(self) -> None:
        self.names = {}
        for found in walk(self.node):
            if isinstance(found, cst.Name) and not self._is_label(found):
                self.names.setdefault(found.value, []).append(found)

    def _is_label(self, name: cst.Name) -> bool:
        """An attribute or a keyword: no variable."""
        parent = self.module.parents.get(name)
        if isinstance(parent, cst.Attribute):
            return parent.attr is name
        return isinstance(parent, cst.Arg) and parent.keyword is name

    def bindings(self, name: str) -> Iterator[tuple[cst.Name, cst.BaseExpression | None]]:
        """Where a name is bound and to what, None where that is not one expression."""
        for found in self.names.get(name, ()):
            parent = self.module.parents[found]
            if isinstance(parent, cst.AssignTarget):
                assign = self.module.parents[parent]
                yield found, assign.value if isinstance(assign, cst.Assign) else None
            elif isinstance(parent, (cst.AnnAssign, cst.NamedExpr)) and parent.target is found:
                yield found, parent.value
            elif isinstance(parent, (cst.Param, cst.AsName)) or self._in_target(found):
                yield found, None

    def _in_target(self, name: cst.Name) -> bool:
        """Inside of ``a, (b, c) = ...`` or ``for a, b in ...``."""
        node: cst.CSTNode = name
        for parent in self.module.above(name):
            if isinstance(parent, cst.AssignTarget):
                return True
            if isinstance(parent, (cst.For, cst.CompFor)):
                return parent.target is node
            if not isinstance(parent, (cst.Tuple, cst.List, cst.Element, cst.StarredElement)):
                return False
            node = parent
        return False

    def unused(self, name: str) -> str:
        """A name like this one that the function does not use yet."""
        words = (name, *(f"{name}_{i}" for i in range(1, len(self.names) + 2)))
        return next(word for word in words if word not in self.names)

    def binds(self, name: str) -> bool:
        return any(True for _ in self.bindings(name))

    def fills(self, name: str) -> bool:
        """Whether a function is called for what it does to an argument: it hands nothing back and keeps nothing."""
        given = any(isinstance(self.module.parents[found], cst.Param) for found in self.names.get(name, ()))
        handed = any(
            (isinstance(node, cst.Return) and node.value is not None)
            or isinstance(node, cst.Yield)
            or (isinstance(node, cst.Assign) and mentions(node.value, name) and keeps(node))
            for node in walk(self.node)
        )
        return given and not handed

    def holds_parameter(self, name: str) -> bool:
        """Whether the tensor itself is to change: one that is looped over, filled, or a new parameter."""
        values = [value for _, value in self.bindings(name) if isinstance(value, cst.Call)]
        return self.iterates(name) or self.fills(name) or any(last_name(value.func) == "Parameter" for value in values)

    def iterates(self, name: str) -> bool:
        for found in self.names.get(name, ()):
            node: cst.CSTNode = found
            for parent in self.module.above(found):
                if isinstance(parent, (cst.For, cst.CompFor)) and parent.target is node:
                    return True
                if not isinstance(parent, (cst.Tuple, cst.List, cst.Element, cst.StarredElement)):
                    break
                node = parent
        return False

    def uses(self, name: str) -> Iterator[cst.Name]:
        """Where the value of a name is read."""
        for found in self.names.get(name, ()):
            parent = self.module.parents[found]
            if isinstance(parent, (cst.AssignTarget, cst.Param, cst.AsName)) or self._in_target(found):
                continue
            yield found

    def read_after(self, name: str, statement: cst.CSTNode) -> bool:
        """Whether what a name stands for is read behind a statement, or in a next round of a loop around it."""
        start = self.module.start
        loops = [node for node in self.module.above(statement) if isinstance(node, (cst.For, cst.While))]
        inside = [start(loop.body) for loop in loops if self.node in self.module.above(loop)]
        for use in self.uses(name):
            since = self.bound_last(name, use)
            bound = Place(0, 0) if since is None else start(since)
            if start(use) >= self.module.end(statement):
                if bound < start(statement):
                    return True
            elif start(use) < start(statement) and any(bound < body <= start(use) for body in inside):
                return True
        return False

    def computes_with(self, name: str, line: int) -> bool:
        """Whether a name is read behind a line, other than to write to parts of what it names."""
        return any(self.module.start(use).line > line and not self._writes(use) for use in self.uses(name))

    def _writes(self, use: cst.Name) -> bool:
        assign = statement_around(self.module, use)
        targets = [assign.target] if isinstance(assign, cst.AugAssign) else []
        targets += [target.target for target in assign.targets] if isinstance(assign, cst.Assign) else []
        return any(root_of(target) is use for target in targets)

    def bound_last(self, name: str, moment: cst.CSTNode) -> cst.Name | None:
        """The last binding that is certain to have run before: an assignment above, in a block around."""
        blocks = set(self.module.above(moment))
        sure = [
            found
            for found, _ in self.bindings(name)
            if self.module.parents[self._line(found)] in blocks
            and self.module.end(self._line(found)) <= self.module.start(moment)
        ]
        return max(sure, key=self.module.start, default=None)

    def _line(self, node: cst.CSTNode) -> cst.CSTNode:
        """The line of simple statements that a node stands in; the node itself in the head of a block."""
        for parent in self.module.above(node):
            if isinstance(parent, cst.SimpleStatementLine):
                return parent
            if isinstance(parent, cst.BaseCompoundStatement):
                break
        return node


def scope_around(module: Module, node: cst.CSTNode) -> Scope:
    """The scope of the function around a node, or of the module."""
    return Scope(module, module.around(node, cst.FunctionDef) or module.tree)
