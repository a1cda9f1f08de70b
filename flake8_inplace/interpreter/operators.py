"""Unary and binary operators."""

from __future__ import annotations

import libcst as cst

from ..heap.values import Condition, Const, Tensor, Unknown, Value
from ..models import arithmetic, classes, overloads
from ..program.site import Site
from ..torchfacts import ops as facts
from ..trace.frames import Frame
from ..trace.trace import Trace
from .conditions import condition
from .dispatch import evaluate, evaluates, site_of
from .literals import use_operand

_BINARY = {
    cst.Add: "add", cst.Subtract: "sub", cst.Multiply: "mul", cst.Divide: "truediv", cst.FloorDivide: "floordiv",
    cst.Modulo: "mod", cst.Power: "pow", cst.MatrixMultiply: "matmul", cst.BitAnd: "and", cst.BitOr: "or",
    cst.BitXor: "xor", cst.LeftShift: "lshift", cst.RightShift: "rshift",
}  # fmt: skip
AUGMENTED = {
    cst.AddAssign: "add", cst.SubtractAssign: "sub", cst.MultiplyAssign: "mul", cst.DivideAssign: "truediv",
    cst.FloorDivideAssign: "floordiv", cst.ModuloAssign: "mod", cst.PowerAssign: "pow",
    cst.MatrixMultiplyAssign: "matmul", cst.BitAndAssign: "and", cst.BitOrAssign: "or", cst.BitXorAssign: "xor",
    cst.LeftShiftAssign: "lshift", cst.RightShiftAssign: "rshift",
}  # fmt: skip


@evaluates(cst.BinaryOperation)
def _binary(m: Trace, node: cst.BinaryOperation, frame: Frame) -> Value:
    left = evaluate(m, node.left, frame)
    since = m.clock
    right = evaluate(m, node.right, frame)
    use_operand(m, node.left, left, since, frame)
    return arithmetic.operator(m, _BINARY[type(node.operator)], left, right, site_of(node, frame))


@evaluates(cst.UnaryOperation)
def _unary(m: Trace, node: cst.UnaryOperation, frame: Frame) -> Value:
    value = m.see(evaluate(m, node.expression, frame))
    if isinstance(node.operator, cst.Not):
        test = condition(m, value)
        if isinstance(test, bool):
            return Const(not test)
        return Condition(test.false, test.true)
    name = {cst.Minus: "neg", cst.Plus: "pos", cst.BitInvert: "invert"}[type(node.operator)]
    return m.split([value], lambda options: _of_one(m, name, m.see(options[0]), site_of(node, frame)))


def _of_one(m: Trace, name: str, value: Value, site: Site) -> Value:
    """Apply a unary operator. What it is applied to may be a number."""
    if isinstance(value, Tensor):
        return overloads.apply(m, facts.lookup(f"Tensor.__{name}__"), [value], {}, site)
    made = classes.special(m, value, f"__{name}__", [], site)
    if made is not None:
        return made
    if isinstance(value, Const) and isinstance(value.value, (int, float)):
        try:
            return Const({"neg": lambda v: -v, "pos": lambda v: +v, "invert": lambda v: ~v}[name](value.value))
        except TypeError:
            return Unknown(scalar=True)
    result = m.symbol(name, value, scalar=isinstance(value, Unknown) and value.scalar, grad=m.grad(value))
    result.node = result.node or (value.node if isinstance(value, Unknown) else None)
    return result
