"""Comparisons, identity and membership."""

from __future__ import annotations

import libcst as cst

from ..heap.values import NONE, Choice, Condition, Const, Dict, List, Object, Tensor, Tuple, Unknown, Value
from ..models import arithmetic
from ..program.site import Site
from ..trace.frames import Frame
from ..trace.trace import Trace
from .dispatch import evaluate, evaluates
from .names import quietly

_COMPARISON = {
    cst.Equal: "eq", cst.NotEqual: "ne", cst.LessThan: "lt", cst.LessThanEqual: "le", cst.GreaterThan: "gt",
    cst.GreaterThanEqual: "ge", cst.Is: "eq", cst.IsNot: "ne",
}  # fmt: skip


@evaluates(cst.Comparison)
def _comparison(m: Trace, node: cst.Comparison, frame: Frame) -> Value:
    same = all(type(target.operator) in (cst.Is, cst.IsNot) for target in node.comparisons)
    read = quietly if same else evaluate
    left = m.see(read(m, node.left, frame))
    result: Value = Unknown(scalar=True)
    for target in node.comparisons:
        operator = target.operator
        named = type(operator) in (cst.In, cst.NotIn) and isinstance(left, Const) and isinstance(left.value, str)
        right = m.see((quietly if named else read)(m, target.comparator, frame))  # keys, and no values of tensors
        if type(operator) in (cst.Is, cst.IsNot):
            result = _identity(m, left, right, isinstance(operator, cst.Is))
        elif type(operator) in _COMPARISON:
            result = arithmetic.operator(m, _COMPARISON[type(operator)], left, right, Site(frame.piece, operator, node))
        else:
            inside = isinstance(operator, cst.In)
            known = _contains(m, left, right)
            if known is not None:
                result, left = Const(known is inside), right
                continue
            test = m.symbol("in", left, right, scalar=True)
            result = test if inside else Condition(frozenset({(test, False)}), frozenset({(test, True)}))
        left = right
    return result if len(node.comparisons) == 1 else Unknown(scalar=True)


def _contains(m: Trace, item: Value, whole: Value) -> bool | None:
    """Return the truth of ``item in whole`` for strings and containers of constants, else None."""
    if not isinstance(item, Const):
        return None
    if isinstance(whole, Const) and isinstance(whole.value, str) and isinstance(item.value, str):
        return item.value in whole.value
    if isinstance(whole, Dict):
        table = m.state.get(whole)
        return True if item.value in table.items else None if table.open else False
    if isinstance(whole, (Tuple, List)):
        items = whole.items if isinstance(whole, Tuple) else m.state.get(whole).items
        closed = isinstance(whole, Tuple) or not m.state.get(whole).open
        if closed and all(isinstance(m.see(other), Const) for other in items):
            return any(m.see(other) == item for other in items)
    return None


def _identity(m: Trace, left: Value, right: Value, positive: bool) -> Value:
    if isinstance(left, Choice) or isinstance(right, Choice):
        return m.split([left, right], lambda v: _identity(m, v[0], v[1], positive))
    if right == NONE and not isinstance(left, (Unknown, Const)):
        return Const(not positive)
    if isinstance(left, Const) and isinstance(right, Const):
        return Const((left.value is right.value) is positive)
    if isinstance(left, (Tensor, Object)) and isinstance(right, (Tensor, Object)):
        return Const((left is right) is positive)
    test = m.symbol("is", left, right, scalar=True)
    if positive:
        return test
    return Condition(frozenset({(test, False)}), frozenset({(test, True)}))
