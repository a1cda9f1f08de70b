"""The parts of a statement that overwrites a tensor, and edits of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from ..finding import Edit, Place
from ..torchfacts import ops
from ..torchfacts.kinds import STEPPING, plain
from .syntax import (
    Module,
    dotted,
    functions_called,
    is_import,
    is_method,
    last_name,
    name_of,
    overwritten,
    source_of,
)

#: Where the method without the underscore does not do the same: another type, other values, or an error.
_OTHER_RESULT = frozenset(
    "eq ne lt le gt ge not_equal less less_equal greater greater_equal logical_not logical_and logical_or logical_xor "
    "bernoulli float_power resize resize_as".split()
)
#: In-place arithmetic keeps the type of the tensor; out of place, a wider operand widens the result.
PROMOTING = frozenset(
    "add sub subtract mul multiply div divide true_divide floor_divide pow addcmul addcdiv remainder fmod atan2 "
    "hypot lerp addmm addmv addr baddbmm maximum minimum clamp clip clamp_max clamp_min copysign ldexp nextafter "
    "igamma igammac xlogy heaviside arctan2 gcd lcm bitwise_and bitwise_or bitwise_xor".split()
)


def writers(module: Module, place: Place) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression]]:
    """The nodes that write at a place, each with what it writes to."""
    nodes = [node for node in module.of(cst.AugAssign) if module.start(node.operator) == place]
    yield from ((node, node.target) for node in nodes)
    yield from ((node, node) for node in module.of(cst.Subscript) if module.start(node.lbracket) == place)
    for call in module.of(cst.Call):
        if module.start(name_of(call)) == place and (target := overwritten(call)) is not None:
            yield call, target


def writing_statements(module: Module, place: Place) -> Iterator[tuple[cst.BaseSmallStatement, cst.BaseExpression]]:
    """The same, with the statements that they stand in."""
    for node, target in writers(module, place):
        statement = node if isinstance(node, cst.AugAssign) else statement_around(module, node)
        if statement is not None:
            yield statement, target


def statement_around(module: Module, node: cst.CSTNode) -> cst.BaseSmallStatement | None:
    """The simple statement that a node stands in, if no function or comprehension comes between."""
    for parent in module.above(node):
        if isinstance(parent, cst.BaseSmallStatement):
            return parent
        if isinstance(parent, (cst.Lambda, cst.BaseComp, cst.BaseCompoundStatement)):
            return None
    return None


def is_statement(node: cst.CSTNode, statement: cst.BaseSmallStatement) -> bool:
    return isinstance(statement, cst.Expr) and statement.value is node


def rebinds(statement: cst.BaseSmallStatement, root: cst.BaseExpression) -> bool:
    """``x = ...``, where ``x`` is what is overwritten."""
    return isinstance(statement, cst.Assign) and any(t.target.deep_equals(root) for t in statement.targets)


def written_value(statement: cst.BaseSmallStatement) -> cst.BaseExpression | None:
    """The expression whose value a statement writes, where it can be computed beforehand."""
    if isinstance(statement, (cst.Assign, cst.AugAssign)):
        return statement.value
    call = statement.value if isinstance(statement, cst.Expr) else None
    return call.args[0].value if isinstance(call, cst.Call) and len(call.args) == 1 else None


def line_above(module: Module, statement: cst.BaseSmallStatement, code: str) -> str:
    """What to put before a statement so that other code stands above it, or before it on its line."""
    line, start = module.parents[statement], module.start(statement)
    indent = module.tree.code.split("\n")[start.line - 1][: start.column]
    alone = isinstance(line, cst.SimpleStatementLine) and line.body[0] is statement and not indent.strip()
    return f"{code}\n{indent}" if alone else f"{code}; "


def chain(module: Module, call: cst.Call) -> tuple[list[cst.Call], cst.BaseExpression]:
    """All links of ``x.mul_(2).add_(1)``, the first one first, and ``x``."""
    links = [call]
    while (parent := _link_above(module, links[-1])) is not None:
        links.append(parent)
    while (below := overwritten(links[0])) is not None and isinstance(below, cst.Call):
        if not (last_name(below.func).endswith("_") and overwritten(below) is not None):
            break
        links.insert(0, below)
    base = overwritten(links[0])
    assert base is not None
    return links, base


def _link_above(module: Module, call: cst.Call) -> cst.Call | None:
    attribute = module.parents[call]
    if not isinstance(attribute, cst.Attribute) or not attribute.attr.value.endswith("_"):
        return None
    parent = module.parents[attribute]
    return parent if isinstance(parent, cst.Call) and parent.func is attribute else None


def out_of_place_links(module: Module, links: Iterable[cst.Call]) -> list[Edit]:
    """The edits that make all links of a chain out of place; none if one of them has no such form."""
    edits = [_out_of_place(module, link) for link in links if last_name(link.func).endswith("_")]
    return [edit for edit in edits if edit is not None] if None not in edits else []


def _out_of_place(module: Module, link: cst.Call) -> Edit | None:
    """The link without its underscore, where PyTorch has that method."""
    name = link.func.attr if isinstance(link.func, cst.Attribute) else link.func
    bare = last_name(link.func).removesuffix("_")
    if not isinstance(link.func, cst.Attribute) or bare in _OTHER_RESULT:
        return None
    known = (
        bare in ops.tensor_methods() if is_method(link) else bool(functions_called(dotted(link.func).removesuffix("_")))
    )
    return module.replaced(name, bare) if known and last_name(link.func).endswith("_") else None


def steps(links: Iterable[cst.Call]) -> bool:
    """Whether a link rounds: a new tensor would have the gradient zero, which nobody means who rounds past autograd."""
    return any(plain(last_name(link.func).removesuffix("_")) in STEPPING for link in links)


def without(module: Module, call: cst.Call, argument: cst.Arg) -> Edit:
    """One argument taken away, with the comma before it or behind it."""
    index = list(call.args).index(argument)
    if index > 0:
        return Edit(module.end(call.args[index - 1].value), module.end(argument.value), "")
    if len(call.args) > 1:
        return Edit(module.start(argument), module.start(call.args[1]), "")
    return module.replaced(argument, "")


def cloned(module: Module, node: cst.BaseExpression) -> str:
    return f"{module.code(node)}.clone()"


def imports(module: Module, name: str) -> bool:
    return any(
        alias.evaluated_name == name and not alias.asname for node in module.of(cst.Import) for alias in node.names
    )


def deep_copying(module: Module) -> tuple[str, list[Edit]]:
    """What makes a deep copy, and the import that it needs: ``copy`` may stand for the function, or for a variable."""
    found = {
        alias.evaluated_name
        for node in module.of(cst.ImportFrom)
        if source_of(node) == "copy"
        for alias in _aliases(node)
    }
    if "deepcopy" in found:
        return "deepcopy", []
    if "copy" in found or (
        not imports(module, "copy") and any(_is_variable(module, name) for name in module.of(cst.Name))
    ):
        return "deepcopy", _import_line(module, "from copy import deepcopy")
    return "copy.deepcopy", imported(module, "copy")


def _aliases(node: cst.ImportFrom) -> list[cst.ImportAlias]:
    return [] if isinstance(node.names, cst.ImportStar) else [alias for alias in node.names if not alias.asname]


def _is_variable(module: Module, name: cst.Name) -> bool:
    """Whether a name is a variable that is called ``copy``: no attribute, and no keyword."""
    parent = module.parents.get(name)
    label = (isinstance(parent, cst.Attribute) and parent.attr is name) or (
        isinstance(parent, cst.Arg) and parent.keyword is name
    )
    method = isinstance(parent, cst.FunctionDef) and module.around(parent, cst.ClassDef) is not None
    return name.value == "copy" and not label and not method


def imported(module: Module, name: str) -> list[Edit]:
    """The import of a module of the standard library, if there is none yet: beside the first import, or at the top."""
    return [] if imports(module, name) else _import_line(module, f"import {name}")


def _import_line(module: Module, text: str) -> list[Edit]:
    lines = [line for line in module.of(cst.SimpleStatementLine) if is_import(line.body[0])]
    if not lines:
        docstring = module.tree.get_docstring() is not None
        place = module.end(module.tree.body[0]) if docstring else module.start(module.tree.body[0])
        return [Edit(place, place, f"\n{text}" if docstring else f"{text}\n")]
    future = isinstance(lines[0].body[0], cst.ImportFrom) and source_of(lines[0].body[0]) == "__future__"
    place = module.end(lines[0]) if future else module.start(lines[0])
    return [Edit(place, place, f"\n{text}" if future else f"{text}\n")]
