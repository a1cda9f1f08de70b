"""How the operands of an expression are spelled: each as a variable, with the attributes that follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from .nodes import parts


@dataclass(frozen=True, slots=True)
class Operand:
    """How an operand is spelled: the variable that it begins with, the attributes and subscripts that follow.

    ``path`` holds the attributes, and is None with a subscript. ``called``: a method is called, whose result is made
    here. A method of a variable is one of it: ``new`` of ``new.flatten()``.
    """

    name: str
    path: tuple[str, ...] | None
    called: bool


def operands(node: cst.CSTNode) -> list[Operand] | None:
    """How two operands, or a target and its new part, are spelled. None if alike, or one of them with no variable.

    Those of an assignment, ``best[better] = x[better]``, are what the elements are of.
    """
    if type(node) is cst.Assign:
        sides = (node.targets[0].target, node.value)
        both: Sequence[cst.CSTNode] = [side.value for side in sides if type(side) is cst.Subscript]
    elif isinstance(node, cst.BinaryOperation):
        both = (node.left, node.right)
    elif type(node) is cst.Comparison and len(node.comparisons) == 1:
        both = (node.left, node.comparisons[0].comparator)
    elif type(node) is cst.AugAssign:
        both = (node.target, node.value)
    elif type(node) is cst.Call:
        both = [arg.value for arg in node.args if not arg.star and arg.keyword is None]
        if called_name(node) == "where":
            both = both[1:]
        both = both[:2]
        if type(node.func) is cst.Attribute and len(both) == 1:
            both = (node.func.value, *both)
    else:
        return None
    if len(both) != 2 or list(words(both[0])) == list(words(both[1])):
        return None
    found = [_holder(operand) for operand in both]
    same = found[0].name == found[1].name and not any(map(_picks, both)) and not _differ(found[0].path, found[1].path)
    return found if all(operand.name for operand in found) and not same else None


def _differ(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> bool:
    """Whether two attributes of one variable have different names."""
    return one is not None and other is not None and one[:1] != other[:1] and bool(one and other)


def _is_product(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Multiply, cst.Divide))


def _picks(node: cst.CSTNode) -> bool:
    """Whether an expression takes an element out of something."""
    return type(node) is cst.Subscript or any(map(_picks, parts(node)))


def _holder(operand: cst.CSTNode) -> Operand:
    if isinstance(operand, cst.BinaryOperation) and _is_product(operand):
        factors = [side for side in (operand.left, operand.right) if not isinstance(side, (cst.Integer, cst.Float))]
        return _holder(factors[0]) if len(factors) == 1 else Operand("", None, False)
    node, called = operand, type(operand) is cst.Call
    path: tuple[str, ...] | None = ()
    while type(node) is not cst.Name:
        if type(node) is cst.Call and type(node.func) is cst.Attribute:
            node, path = node.func.value, () if path == () else None
        elif type(node) is cst.Attribute:
            path = None if path is None else (node.attr.value, *path)
            node = node.value
        elif type(node) is cst.Subscript:
            node, path = node.value, None
        else:
            return Operand("", None, False)
    return Operand(node.value, path, called)


def words(node: cst.CSTNode) -> Iterator[str]:
    """The names and literals in a piece of program text."""
    if isinstance(node, (cst.Name, cst.Integer, cst.SimpleString)):
        yield node.value
    for child in parts(node):
        yield from words(child)


def called_name(node: cst.CSTNode) -> str:
    """The last name of what a call calls: ``relu_`` in ``F.relu_(x)``."""
    func = node.func if type(node) is cst.Call else None
    func = func.attr if type(func) is cst.Attribute else func
    return func.value if type(func) is cst.Name else ""
