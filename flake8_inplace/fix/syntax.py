"""A parsed text: nodes, their positions and parents, and what an expression is by its looks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import libcst as cst
from libcst.metadata import (
    CodeRange,
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    WhitespaceInclusivePositionProvider,
)

from ..finding import Edit, Place
from ..torchfacts import modules, ops

NodeT = TypeVar("NodeT", bound=cst.CSTNode)

_VIEW_ATTRIBUTES = frozenset({"data", "T", "mT", "H", "mH", "real", "imag"})

#: The facts are those of training. In evaluation dropout hands back the very tensor that it is given; einsum may, too.
_MAY_RETURN_INPUT = frozenset(
    "dropout dropout1d dropout2d dropout3d alpha_dropout feature_dropout feature_alpha_dropout einsum".split()
)


GATHER = frozenset({"append", "insert", "appendleft", "setdefault"})
"""Methods that put their last argument into a list or dictionary."""
#: In-place methods after which the tensor has another shape: what was a view of it is none any more.
_RESIZES = frozenset({"resize_", "resize_as_", "set_"})


class Module:
    """A parsed text: positions, parents, and the node that a finding points at."""

    def __init__(self, text: str) -> None:
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        self.tree = wrapper.module
        self._wrapper = wrapper
        self.ranges = wrapper.resolve(PositionProvider)
        self.parents = wrapper.resolve(ParentNodeProvider)
        self.nodes = list(walk(self.tree))

    def start(self, node: cst.CSTNode) -> Place:
        position = self._range(node).start
        return Place(position.line, position.column)

    def end(self, node: cst.CSTNode) -> Place:
        position = self._range(node).end
        return Place(position.line, position.column)

    def _range(self, node: cst.CSTNode) -> CodeRange:
        found = self.ranges[node]
        assert isinstance(found, CodeRange)
        return found

    def code(self, node: cst.CSTNode) -> str:
        """The text of an expression or statement, which keeps the indentation of its later lines."""
        code = self.tree.code_for_node(node)
        if (
            "\n" not in code
            or node not in self.ranges
            or not isinstance(node, (cst.BaseExpression, cst.BaseSmallStatement))
        ):
            return code
        whole = self._wrapper.resolve(WhitespaceInclusivePositionProvider)[node]
        assert isinstance(whole, CodeRange)
        lines = self.tree.code.split("\n")[whole.start.line - 1 : whole.end.line]
        lines[-1] = lines[-1][: whole.end.column]
        return "\n".join(lines)[whole.start.column :]

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes around a node, from the inside."""
        while node is not self.tree:
            node = self.parents[node]
            yield node

    def around(self, node: cst.CSTNode, kind: type[NodeT]) -> NodeT | None:
        return next((parent for parent in self.above(node) if isinstance(parent, kind)), None)

    def fresh(self, node: cst.BaseExpression) -> bool:
        """Whether an expression surely makes a new tensor, in training and in evaluation."""
        if isinstance(node, cst.BinaryOperation):
            return True
        if isinstance(node, cst.UnaryOperation):
            return not isinstance(node.operator, cst.Plus)  # `+x` is x
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or keyword(node, "inplace"):
            return False
        name, receiver = node.func.attr.value, node.func.value
        if name in _MAY_RETURN_INPUT:
            return False
        if not is_method(node):
            return is_fresh(functions_called(dotted(node.func)))
        if is_own_layer(node):
            return self._layer_is_fresh(name)
        found = ops.lookup(f"Tensor.{name}")
        return is_fresh(found) and (self.fresh(receiver) or any(takes(op, node) for op in found))

    def _layer_is_fresh(self, name: str) -> bool:
        """Whether every ``self.name = nn.Layer(...)`` of the file is of a layer that returns a new tensor."""
        built = [
            value
            for assign in self.of(cst.Assign)
            for target in assign.targets
            for part, value in bound(target.target, assign.value)
            if isinstance(part, cst.Attribute) and part.attr.value == name
        ]
        return bool(built) and all(isinstance(value, cst.Call) and builds_fresh(value) for value in built)

    def spans(self, node: cst.CSTNode, place: Place) -> bool:
        return self.start(node) <= place < self.end(node)

    def replaced(self, node: cst.CSTNode, text: str) -> Edit:
        return Edit(self.start(node), self.end(node), text)

    def of(self, kind: type[NodeT]) -> list[NodeT]:
        return [node for node in self.nodes if isinstance(node, kind)]


def moved(place: Place, edits: Sequence[Edit]) -> Place:
    """Where a place that no edit touches stands afterwards."""
    line, column = place.line, place.column
    for edit in edits:
        if edit.end <= place:
            added = edit.text.split("\n")
            line += len(added) - 1 - (edit.end.line - edit.start.line)
            if edit.end.line == place.line:
                kept = edit.start.column if len(added) == 1 else 0
                column += kept + len(added[-1]) - edit.end.column
    return Place(line, column)


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from walk(child)


def bound(target: cst.BaseExpression, value: cst.BaseExpression) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression]]:
    """What an assignment binds to what; ``a, b = c, d`` part by part."""
    if isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple) and len(target.elements) == len(value.elements):
        for one, other in zip(target.elements, value.elements, strict=True):
            yield from bound(one.value, other.value)
    else:
        yield from ((part, value) for part in walk(target))


def last_name(node: cst.BaseExpression) -> str:
    """The last name of a dotted path."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def name_of(call: cst.Call) -> cst.BaseExpression:
    """The last name of what is called, where the analysis says that the call stands."""
    return call.func.attr if isinstance(call.func, cst.Attribute) else call.func


def is_path(node: cst.BaseExpression) -> bool:
    """``x``, ``self.h``, ``self.states.h``: reading it twice does nothing twice."""
    return bool(dotted(node))


def keyword(call: cst.Call, name: str) -> cst.Arg | None:
    return next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == name), None)


def is_method(call: cst.Call) -> bool:
    """``x.relu_()``, not ``torch.relu_(x)``."""
    return isinstance(call.func, cst.Attribute) and not is_library(call.func.value)


def dotted(node: cst.BaseExpression) -> str:
    """``torch.nn.functional`` as it is written, empty where a node is no such path."""
    if isinstance(node, cst.Attribute):
        return f"{inner}.{node.attr.value}" if (inner := dotted(node.value)) else ""
    return node.value if isinstance(node, cst.Name) else ""


def is_own_layer(call: cst.Call) -> bool:
    """``self.norm(x)``: not a method of a tensor, whatever its name."""
    return isinstance(call.func, cst.Attribute) and dotted(call.func.value) == "self"


def takes(op: ops.Op, call: cst.Call) -> bool:
    """Whether the arguments may be those of a tensor's method: ``block.norm(x)`` is a layer, ``x.norm(2)`` is none."""
    given = [argument.value for argument in call.args if argument.keyword is None]
    parameters = op.params[1:]
    if any(parameter.varargs for parameter in parameters):
        return True
    return len(given) <= len(parameters) and not any(
        parameter.kind == "other" and isinstance(value, cst.Name)
        for value, parameter in zip(given, parameters, strict=False)
    )


def is_library(node: cst.BaseExpression) -> bool:
    return dotted(node).partition(".")[0] in ("torch", "F", "nn")


def overwrites(call: cst.Call) -> bool:
    """``x.relu_()``, ``torch.relu_(x)``, ``F.relu(x, inplace=True)``: calls that return the tensor they overwrite."""
    name = last_name(call.func)
    return keyword(call, "inplace") is not None or (name in ops.inplace_methods() and name not in _RESIZES)


def overwritten(call: cst.Call) -> cst.BaseExpression | None:
    """The tensor that an in-place call overwrites."""
    if is_method(call):
        assert isinstance(call.func, cst.Attribute)
        return call.func.value
    return call.args[0].value if call.args else None


def written_at(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The target of an augmented assignment, a part that is assigned to, or what a call may overwrite."""
    if isinstance(node, cst.AugAssign):
        return node.target
    if isinstance(node, cst.Call):
        return overwritten(node)
    return node if isinstance(node, cst.Subscript) else None


def functions_called(path: str) -> tuple[ops.Op, ...]:
    """The overloads of ``torch.linalg.norm``, ``F.relu``, ``nn.functional.relu``."""
    head, _, rest = path.partition(".")
    return ops.lookup({"F": f"torch.nn.functional.{rest}", "nn": f"torch.{path}"}.get(head, path))


def builds_fresh(constructor: cst.Call) -> bool:
    """Whether calls of a layer that is built like this return a new tensor."""
    return is_fresh_layer(f"torch.nn.{last_name(constructor.func)}") and inplace_flag(constructor) is None


def inplace_flag(constructor: cst.Call) -> cst.Arg | None:
    """The argument that says whether a layer overwrites its input: ``nn.ReLU(True)``, ``nn.ELU(inplace=FAST)``."""
    flag = keyword(constructor, "inplace")
    fact = modules.lookup(f"torch.nn.{last_name(constructor.func)}")
    if flag is not None or fact is None or "inplace" not in fact.init or any(arg.star for arg in constructor.args):
        return flag
    given = [argument for argument in constructor.args if argument.keyword is None]
    at = fact.init.index("inplace")
    return given[at] if len(given) > at else None


def is_fresh_layer(name: str) -> bool:
    """Whether calls of a class of ``torch.nn`` return a new tensor, in training and in evaluation."""
    fact = modules.lookup(name)
    return fact is not None and is_fresh([fact.op]) and "Dropout" not in name


def stripped(node: cst.BaseExpression) -> tuple[cst.BaseExpression, bool]:
    """``x`` of ``x.data`` and ``x.detach()``, and whether there was a detour."""
    inner = node.func if isinstance(node, cst.Call) and not node.args else node
    if isinstance(inner, cst.Attribute) and inner.attr.value in (("data",) if inner is node else ("detach",)):
        return stripped(inner.value)[0], True
    return node, False


def root_of(node: cst.BaseExpression) -> cst.BaseExpression:
    """What a part or a view is a part of in the end: ``x`` of ``x[0].view(-1)``."""
    return next(reversed(layers_of(node)), node)


def viewed_root(node: cst.BaseExpression) -> cst.BaseExpression:
    """What an expression is surely a part or a view of."""
    while True:
        if isinstance(node, cst.Subscript) and not is_key(node):
            node = node.value
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and is_method(node):
            found = ops.lookup(f"Tensor.{node.func.attr.value}")
            if not any(out.kind != "fresh" for op in found for out in op.outs):
                return node
            node = node.func.value
        elif isinstance(node, cst.Attribute) and node.attr.value in _VIEW_ATTRIBUTES:
            node = node.value
        else:
            return node


def layers_of(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """What could be copied before a part of it is written, from the inside: ``x[i]`` and ``x`` of ``x[i][0]``."""
    found: list[cst.BaseExpression] = []
    while True:
        inner = stripped(node)[0]
        if inner is not node:
            node = inner
        elif isinstance(node, cst.Subscript):
            if is_slot(node):
                found.append(node)
            if is_key(node):
                return found  # of a dictionary, which is no tensor
            node = node.value
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and is_method(node):
            if node.func.attr.value in _OF_MODULES:
                return found
            node = node.func.value
        elif isinstance(node, cst.Attribute) and node.attr.value in _VIEW_ATTRIBUTES:
            node = node.value
        else:
            return [*found, node]


_OF_MODULES = frozenset({"parameters", "named_parameters", "buffers", "named_buffers", "modules", "state_dict"})
"""Methods of modules: what they return is part of a module, which is no tensor."""


def is_key(node: cst.Subscript) -> bool:
    index = node.slice[0].slice
    return isinstance(index, cst.Index) and isinstance(index.value, cst.SimpleString)


def keyed(module: Module) -> set[str]:
    """The variables of a file that something is looked up in by a text: dictionaries, and no tensors."""
    found = (node.value for node in module.of(cst.Subscript) if is_key(node))
    return {value.value for value in found if isinstance(value, cst.Name)}


def is_slot(node: cst.Subscript) -> bool:
    """``rows[i]`` or ``cache["h"]``, which may be an element of a container; with a slice or a mask it is none."""
    index = node.slice[0].slice if len(node.slice) == 1 else None
    if not isinstance(index, cst.Index) or not is_path(node.value):
        return False
    return isinstance(index.value, (cst.Name, cst.Integer, cst.SimpleString, cst.BinaryOperation, cst.UnaryOperation))


def detours(node: cst.BaseExpression) -> bool:
    """Whether a part or a view is taken around autograd: ``x.detach()[0]``, not ``x[mask.data]``."""
    while True:
        if isinstance(node, cst.Subscript):
            node = node.value
        elif isinstance(node, cst.Call):
            node = node.func
        elif isinstance(node, cst.Attribute):
            if node.attr.value in ("data", "detach", "numpy"):
                return True
            node = node.value
        else:
            return False


def is_number(node: cst.BaseExpression, known: Callable[[str], bool]) -> bool:
    """Whether an expression is a Python number by its looks; ``known`` says it of a name."""
    if isinstance(node, cst.BinaryOperation):
        return is_number(node.left, known) and is_number(node.right, known)
    if isinstance(node, cst.UnaryOperation):
        return is_number(node.expression, known)
    if isinstance(node, cst.Name):
        return known(node.value)
    if isinstance(node, cst.Attribute):
        return dotted(node.value) == "math"
    if isinstance(node, cst.Subscript):
        return last_name(node.value) == "shape" and isinstance(node.slice[0].slice, cst.Index)
    if isinstance(node, cst.Call):
        return dotted(node.func) in ("len", "int", "float") or dotted(node.func).startswith("math.") or counts(node)
    return isinstance(node, (cst.Integer, cst.Float))


def counts(call: cst.Call) -> bool:
    """``x.item()``, ``x.numel()``, ``x.size(0)``."""
    return last_name(call.func) in ("item", "numel", "dim") or (last_name(call.func) == "size" and bool(call.args))


def is_fresh(found: Sequence[ops.Op]) -> bool:
    return bool(found) and all(out.kind == "fresh" for op in found for out in op.outs)


def is_several(node: cst.BaseExpression) -> bool:
    """Whether a call may return a tuple, which has no `clone`: ``torch.max(x, 0)``."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return False
    found = ops.lookup(f"Tensor.{node.func.attr.value}") if is_method(node) else functions_called(dotted(node.func))
    return any(len(op.outs) > 1 or any(out.many for out in op.outs) for op in found)


def is_parameter(module: Module, name: str) -> bool:
    """Whether an attribute of that name is an ``nn.Parameter``, which refuses to be replaced by a tensor."""
    if name in ("weight", "bias"):
        return True
    pattern = rf"\.{name}\s*(?::[^=\n]+)?=\s*(?:\w+\.)*Parameter\(|register_parameter\(\s*[\"']{name}[\"']"
    return re.search(pattern, module.tree.code) is not None


def mentions(node: cst.CSTNode, name: str) -> bool:
    return any(isinstance(part, cst.Name) and part.value == name for part in walk(node))


def keeps(assign: cst.Assign) -> bool:
    """Whether an assignment stores something in an object."""
    return any(isinstance(target.target, cst.Attribute) for target in assign.targets)


def range_from_one(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """``n`` of ``range(1, n)``."""
    if isinstance(node, cst.Call) and last_name(node.func) == "range" and len(node.args) == 2:
        first = node.args[0].value
        return node.args[1].value if isinstance(first, cst.Integer) and first.value == "1" else None
    return None


def is_import(node: cst.BaseSmallStatement) -> bool:
    return isinstance(node, (cst.Import, cst.ImportFrom))


def source_of(node: cst.ImportFrom) -> str:
    return node.module.value if isinstance(node.module, cst.Name) else ""
