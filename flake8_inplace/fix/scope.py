"""Who binds a name in a function, who reads it, and who else may hold the tensor that it names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from ..torchfacts import ops
from .syntax import Module, first_name, keeps, last_name, mentions, overwritten, viewed_root, walk


@dataclass
class Scope:
    """A function, or the module: who binds a name in it, who reads it, and who else may hold what it names."""

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

    def bindings(self, name: str) -> Iterator[cst.BaseExpression | None]:
        """What a name is bound to, None where that is not one expression."""
        for found in self.names.get(name, ()):
            parent = self.module.parents[found]
            if isinstance(parent, cst.AssignTarget):
                assign = self.module.parents[parent]
                yield assign.value if isinstance(assign, cst.Assign) else None
            elif isinstance(parent, (cst.AnnAssign, cst.NamedExpr)) and parent.target is found:
                yield parent.value
            elif isinstance(parent, (cst.Param, cst.AsName)) or self._in_target(found):
                yield None

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
        values = [value for value in self.bindings(name) if isinstance(value, cst.Call)]
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
        """Whether a name is read behind a statement, or in a next round of a loop around it."""
        start, end = self.module.start(statement), self.module.end(statement)
        loops = [node for node in self.module.above(statement) if isinstance(node, (cst.For, cst.While))]
        inside = [loop for loop in loops if self.node in self.module.above(loop)]
        for use in self.uses(name):
            place = self.module.start(use)
            if place >= end:
                return True
            if any(
                self.module.start(loop.body) <= place < start and not self._bound_before(name, loop, use)
                for loop in inside
            ):
                return True
        return False

    def _bound_before(self, name: str, loop: cst.For | cst.While, use: cst.CSTNode) -> bool:
        """Whether each round of a loop binds a name anew before a use of it."""
        lines = loop.body.body if isinstance(loop.body, cst.IndentedBlock) else ()
        return any(
            isinstance(target.target, cst.Name) and target.target.value == name
            for line in lines
            if isinstance(line, cst.SimpleStatementLine) and self.module.end(line) <= self.module.start(use)
            for small in line.body
            if isinstance(small, cst.Assign)
            for target in small.targets
        )

    def part_of_another(self, name: str, statement: cst.CSTNode) -> bool:
        """Whether a name is a view of another that is read afterwards: a write to it was meant to reach that one."""
        for value in self.bindings(name):
            if isinstance(value, cst.Name) or value is None:
                continue
            root = viewed_root(value)
            other = root.value if root is not value and isinstance(root, cst.Name) else name
            if other != name and self.read_after(other, statement):
                return True
        return False

    def computed(self, name: str) -> bool:
        """Whether a name is bound to new tensors only."""
        values = list(self.bindings(name))
        fresh = [value is not None and (self.module.fresh(value) or self._chains(name, value)) for value in values]
        return bool(values) and all(fresh)

    def numpy(self) -> bool:
        """Whether it computes with numpy alone: arrays have ``copy`` and no ``clone``."""
        used = {first_name(node.func) for node in walk(self.node) if isinstance(node, cst.Call)}
        return bool(used & {"np", "numpy"}) and "torch" not in used

    def private(self, name: str, statement: cst.CSTNode) -> bool:
        """Whether nobody else holds the tensor: computed here, and so far only computed with."""
        if not isinstance(self.node, cst.FunctionDef) or not self.computed(name):
            return False
        end = self.module.end(statement)
        loop = self.module.around(statement, cst.For) or self.module.around(statement, cst.While)
        for use in self.uses(name):
            function = self.module.around(use, cst.FunctionDef)
            if function is not self.node or self.module.around(use, cst.Lambda) is not None:
                return False
            earlier = self.module.start(use) < end
            again = loop is not None and self.module.start(loop) <= self.module.start(use) <= self.module.end(loop)
            if (earlier or again) and not self._computes(use, statement):
                return False
        return True

    def _chains(self, name: str, value: cst.BaseExpression) -> bool:
        """``x = x.mul_(2)``: the same tensor once more."""
        while isinstance(value, cst.Call) and (below := overwritten(value)) is not None:
            value = below
        return isinstance(value, cst.Name) and value.value == name

    def _computes(self, use: cst.Name, statement: cst.CSTNode) -> bool:
        """Whether a use makes a new tensor of the value, and so keeps no name for it."""
        node: cst.CSTNode = use
        for parent in self.module.above(use):
            if isinstance(parent, (cst.BinaryOperation, cst.Comparison, cst.UnaryOperation)):
                return True
            if parent is statement or isinstance(parent, cst.AugAssign):
                return True
            if isinstance(parent, cst.Call) and self.module.fresh(parent):
                return True
            if isinstance(parent, cst.Subscript) and parent.value is not node:
                return True
            if isinstance(parent, cst.Attribute) and parent.value is node and parent.attr.value in ops.scalar_methods():
                return True
            if isinstance(parent, cst.BaseStatement):
                return False
            node = parent
        return False
