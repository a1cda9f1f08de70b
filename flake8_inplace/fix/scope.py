"""Who binds a name in a function, who reads it, and who else may hold the tensor that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import libcst as cst

from ..finding import Place
from ..torchfacts import ops
from .statements import statement_around
from .syntax import (
    Module,
    dotted,
    is_method,
    is_number,
    is_own_layer,
    is_several,
    keeps,
    last_name,
    mentions,
    overwrites,
    overwritten,
    root_of,
    viewed_root,
    walk,
)

#: Attributes of a tensor that hand out nothing which shares its memory.
_READS = frozenset(
    "dim size shape ndim ndimension numel nelement item tolist dtype device layout stride element_size itemsize "
    "requires_grad is_leaf is_cuda is_contiguous is_floating_point is_complex allclose equal".split()
)


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

    def iterates_over_new(self, name: str) -> bool:
        """Whether every loop that binds a name goes through a tensor that was just made, and that has no name."""
        loops = [node for found in self.names.get(name, ()) for node in self.module.above(found)]
        found = [loop for loop in loops if isinstance(loop, (cst.For, cst.CompFor)) and mentions(loop.target, name)]
        return all(self.module.fresh(viewed_root(self._first(loop.iter))) for loop in found)

    def _first(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """``x`` of ``enumerate(x)``."""
        while isinstance(node, cst.Call) and dotted(node.func) in ("enumerate", "reversed") and node.args:
            node = node.args[0].value
        return node

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

    def part_of_another(self, name: str, statement: cst.CSTNode) -> bool:
        """Whether a name is a view of another that is read afterwards: a write to it was meant to reach that one."""
        for _, value in self.bindings(name):
            if isinstance(value, cst.Name) or value is None:
                continue
            root = viewed_root(value)
            other = root.value if root is not value and isinstance(root, cst.Name) else name
            if other != name and self.read_after(other, statement):
                return True
        return False

    def computed(self, name: str) -> bool:
        """Whether a name is bound to new tensors only."""
        values = [value for _, value in self.bindings(name)]
        return bool(values) and all(value is not None and self._own(name, value) for value in values)

    def several(self, name: str) -> bool:
        """Whether a name may be bound to a tuple of results."""
        return any(value is not None and is_several(value) for _, value in self.bindings(name))

    def numpy(self) -> bool:
        """Whether it computes with numpy alone: arrays have ``copy`` and no ``clone``."""
        used = {dotted(node.func).partition(".")[0] for node in walk(self.node) if isinstance(node, cst.Call)}
        return bool(used & {"np", "numpy"}) and "torch" not in used

    # Who else holds a tensor

    def private(self, name: str, statement: cst.CSTNode) -> bool:
        """Whether nobody else holds the tensor that a name stands for: computed here, and so far only computed with."""
        if not isinstance(self.node, cst.FunctionDef) or any(self._elsewhere(use) for use in self.names[name]):
            return False
        return self._private(name, statement, statement, set())

    def _private(self, name: str, moment: cst.CSTNode, fixed: cst.CSTNode, seen: set[cst.CSTNode]) -> bool:
        """The same at any moment. A name that is bound to a part of what it was before has to be private there, too."""
        if moment in seen:
            return True
        seen.add(moment)
        since = self.bound_last(name, moment)
        alive = self._between(since, moment)
        reaching = [(found, value) for found, value in self.bindings(name) if found is since or alive(found)]
        for found, value in reaching:
            if value is None or not self._alone(found) or not self._own(name, value):
                return False
            if not self.module.fresh(viewed_root(value)) and not self._private(name, self._line(found), fixed, seen):
                return False
        return bool(reaching) and all(self._computes(use, fixed) for use in self.uses(name) if alive(use))

    def _elsewhere(self, use: cst.CSTNode) -> bool:
        """Whether a name is used in a function within this one, or declared to be somebody else's."""
        inner = self.module.around(use, cst.FunctionDef) is not self.node or self.module.around(use, cst.Lambda)
        parameter = isinstance(self.module.parents[use], cst.Param)
        return (bool(inner) and not parameter) or isinstance(self.module.parents[use], cst.NameItem)

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

    def _between(self, since: cst.Name | None, moment: cst.CSTNode) -> Callable[[cst.CSTNode], bool]:
        """What may run after a binding and before the end of a statement, in the next round of a loop as well."""
        start = Place(0, 0) if since is None else self.module.end(self._line(since))
        loops = [node for node in self.module.above(moment) if isinstance(node, (cst.For, cst.While))]
        end = max(self.module.end(node) for node in (moment, *loops) if start <= self.module.start(node))
        return lambda node: start <= self.module.start(node) < end

    def _line(self, node: cst.CSTNode) -> cst.CSTNode:
        """The line of simple statements that a node stands in; the node itself in the head of a block."""
        for parent in self.module.above(node):
            if isinstance(parent, cst.SimpleStatementLine):
                return parent
            if isinstance(parent, cst.BaseCompoundStatement):
                break
        return node

    def _alone(self, found: cst.Name) -> bool:
        """Whether what is bound here is bound to one name only: not ``x = y = ...``, not ``f(x := ...)``."""
        target = self.module.parents[found]
        assign = self.module.parents[target]
        return isinstance(target, cst.AnnAssign) or (isinstance(assign, cst.Assign) and len(assign.targets) == 1)

    def _own(self, name: str, value: cst.BaseExpression) -> bool:
        """Whether a value is a new tensor, a part of one that has no name, or the tensor of this name once more."""
        root = viewed_root(value)
        while isinstance(root, cst.Call) and overwrites(root) and (below := overwritten(root)) is not None:
            root = viewed_root(below)
        return self.module.fresh(root) or (isinstance(root, cst.Name) and root.value == name)

    def _computes(self, use: cst.Name, fixed: cst.CSTNode) -> bool:
        """Whether a use makes a new tensor of the value, or changes it, and so keeps no name for it."""
        node: cst.CSTNode = use
        collected = False
        for parent in self.module.above(use):
            if parent is fixed:
                return True
            computes = self._expression_computes(parent, node, collected)
            if computes is None:
                computes = self._statement_computes(parent, node, use.value, collected)
            if computes is not None:
                return computes
            collected = collected or isinstance(parent, (cst.BaseElement, cst.BaseDictElement, cst.BaseComp))
            node = parent
        return False

    def _expression_computes(self, parent: cst.CSTNode, part: cst.CSTNode, collected: bool) -> bool | None:
        """Whether an expression makes a new tensor of a part of it; None where that depends on what stands around it.

        ``collected`` says that the part is a list or the like, which holds the tensor.
        """
        if isinstance(parent, (cst.BinaryOperation, cst.UnaryOperation)):
            return not collected and self.module.fresh(parent)
        if isinstance(parent, cst.Call):
            if self._makes(parent, part):
                return True
            if part is not parent.func and not overwrites(parent):
                return isinstance(part, cst.Arg) and self._computes_with(parent, part)
        if isinstance(parent, cst.NamedExpr):
            return False
        reads = (
            isinstance(parent, cst.Comparison)
            or (isinstance(parent, cst.Subscript) and parent.value is not part)
            or (isinstance(parent, cst.Attribute) and parent.value is part and parent.attr.value in _READS)
        )
        return True if reads else None

    def _statement_computes(self, parent: cst.CSTNode, part: cst.CSTNode, name: str, collected: bool) -> bool | None:
        """Whether a statement changes the tensor of a name, or binds what was made of it to the same name.

        None where ``parent`` is no statement that tells.
        """
        if isinstance(parent, cst.AssignTarget):
            return isinstance(part, cst.Subscript)
        if isinstance(parent, cst.AugAssign):
            return parent.target is part or not (collected or self._list(parent.target))
        if isinstance(parent, cst.Expr):
            return isinstance(part, cst.Call) and self._own(name, part)
        if isinstance(parent, (cst.Assign, cst.AnnAssign)):
            targets = [target.target for target in parent.targets] if isinstance(parent, cst.Assign) else []
            again = len(targets) == 1 and isinstance(targets[0], cst.Name) and targets[0].value == name
            return again and parent.value is not None and self._own(name, parent.value) and not collected
        return False if isinstance(parent, cst.BaseStatement) else None

    def _makes(self, call: cst.Call, part: cst.CSTNode) -> bool:
        """Whether a call makes a new tensor of a part of it, and keeps nothing: ``rows.add(x)`` might be a set's."""
        if not self.module.fresh(call):
            return False
        if part is call.func or not is_method(call) or is_own_layer(call):
            return True
        assert isinstance(call.func, cst.Attribute)
        receiver = call.func.value
        known = self.module.fresh(receiver) or (isinstance(receiver, cst.Name) and self.computed(receiver.value))
        return known or call.func.attr.value in ops.tensor_only_methods()

    def _computes_with(self, call: cst.Call, argument: cst.Arg) -> bool:
        """Whether a function of this file makes a new tensor of an argument; any other callee may keep it."""
        functions = [
            node
            for node in self.module.of(cst.FunctionDef)
            if node.name.value == dotted(call.func) and not node.decorators
        ]
        if len(functions) != 1 or self.module.around(functions[0], cst.ClassDef) or self.binds(dotted(call.func)):
            return False
        function, parameters = functions[0], functions[0].params
        position = call.args.index(argument)
        if argument.star or argument.keyword or parameters.posonly_params or position >= len(parameters.params):
            return False
        name, scope = parameters.params[position].name.value, Scope(self.module, function)
        innocent, key = self.module.innocent, (function, name)
        if key not in innocent:
            innocent[key] = False  # as long as nothing is known: a function that calls itself
            innocent[key] = not any(scope._elsewhere(use) for use in scope.names[name]) and all(
                scope._computes(use, function) for use in scope.uses(name)
            )
        return innocent[key]

    def _list(self, target: cst.BaseExpression) -> bool:
        """Whether ``target += x`` might put parts of ``x`` into a list."""
        if not isinstance(target, cst.Name):
            return True
        values = [value for _, value in self.bindings(target.value)]
        return any(value is None or not (self.module.fresh(value) or self.is_number(value)) for value in values)

    # Types

    def keeps_type(self, operand: cst.BaseExpression, name: str) -> bool:
        """Whether an operand surely leaves the type of a tensor of floats: a number, a truth value, the tensor itself.

        Sums and products of those as well; autocast gives other operations another type.
        """
        if isinstance(operand, cst.Comparison) or self.is_number(operand):
            return True
        if isinstance(operand, cst.BinaryOperation):
            plain = isinstance(operand.operator, (cst.Add, cst.Subtract, cst.Multiply))
            return plain and self.keeps_type(operand.left, name) and self.keeps_type(operand.right, name)
        if isinstance(operand, cst.UnaryOperation):
            return self.keeps_type(operand.expression, name)
        root = viewed_root(operand)
        return isinstance(root, cst.Name) and root.value == name

    def is_number(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a number: by its looks, or a name that is bound to numbers only."""
        return is_number(node, self._is_number)

    def _is_number(self, name: str) -> bool:
        bound = list(self.bindings(name))
        changes = [
            node for found in self.names.get(name, ()) if isinstance(node := self.module.parents[found], cst.AugAssign)
        ]
        values = [value for _, value in bound if value is not None]
        values += [change.value for change in changes if last_name(change.target) == name]
        return (
            bool(bound)
            and all(self._annotated(found) for found, value in bound if value is None)
            and all(is_number(value, lambda other: False) for value in values)
        )

    def _annotated(self, found: cst.Name) -> bool:
        """``scale: float`` among the parameters."""
        parent = self.module.parents[found]
        annotation = parent.annotation if isinstance(parent, cst.Param) else None
        return annotation is not None and dotted(annotation.annotation) in ("int", "float", "bool")


def scope_around(module: Module, node: cst.CSTNode) -> Scope:
    """The scope of the function around a node, or of the module."""
    return Scope(module, module.around(node, cst.FunctionDef) or module.tree)
