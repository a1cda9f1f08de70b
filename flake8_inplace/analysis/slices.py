"""Parts of one tensor that are assigned to one another, or mixed: what is read has been overwritten."""

from __future__ import annotations

import libcst as cst

from .domain import Tensor, Tuple, Value
from .machine import Machine, Site


def shift(m: Machine, target: cst.CSTNode, source: cst.CSTNode, base: Value, site: Site) -> None:
    """``x[:, n:] = x[:, :-n]`` reads elements that it has overwritten before.

    Measured: torch refuses it in the first dimension of contiguous memory, and in others says nothing and gets a move
    to higher indices wrong. A move to lower indices came out right on a CPU.
    """
    if not isinstance(target, cst.Subscript) or not isinstance(source, cst.Subscript) or not isinstance(base, Tensor):
        return
    if not target.value.deep_equals(source.value) or len(target.slice) != len(source.slice):
        return
    pairs = list(zip(target.slice, source.slice, strict=True))
    differing = [index for index, (one, other) in enumerate(pairs) if not one.slice.deep_equals(other.slice)]
    if len(differing) != 1:
        return
    where = differing[0]
    moved = _moved(pairs[where][0].slice, pairs[where][1].slice)
    if moved and where == 0 and base.view == "" and base.contiguous:
        m.refuse("overlap", site)
    elif moved > 0 and where > 0:
        m.refuse("shift", site)


def swap(m: Machine, targets: cst.CSTNode, sources: cst.CSTNode, values: Value, site: Site) -> None:
    """``x[i], x[j] = x[j], x[i]``: the right side are views, and the first assignment changes the second."""
    if not isinstance(targets, cst.Tuple) or not isinstance(sources, cst.Tuple) or not isinstance(values, Tuple):
        return
    left, right = ([element.value for element in side.elements] for side in (targets, sources))
    views = [item.storage for item in map(m.see, values.items) if isinstance(item, Tensor) and item.view]
    crossed = len(left) == len(right) == len(views) == 2 and views[0] is views[1]
    if crossed and left[0].deep_equals(right[1]) and left[1].deep_equals(right[0]):
        m.refuse("read", site)


def blend(m: Machine, node: cst.Call, receiver: Value, site: Site) -> None:
    """``x.mul_(a).add_(x.flip(0))`` means to mix ``x`` with itself in another order, which was multiplied before."""
    chain = node.func.value if isinstance(node.func, cst.Attribute) else None
    name = chain
    while isinstance(name, cst.Call) and isinstance(name.func, cst.Attribute) and name.func.attr.value.endswith("_"):
        name = name.func.value
    if name is chain or not isinstance(name, cst.Name) or not isinstance(receiver, Tensor):
        return
    if any(_reordered(arg.value, name) for arg in node.args):
        m.refuse("read", site)


def _reordered(node: cst.CSTNode, name: cst.Name) -> bool:
    """Whether an expression reads the elements of a variable in another order: ``x.flip(0)``, ``torch.roll(x, 1)``."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _REORDERING:
        read = (node.func.value, *(arg.value for arg in node.args[:1]))
        if any(part.deep_equals(name) for part in read):
            return True
    return any(_reordered(child, name) for child in node.children)


_REORDERING = frozenset({"flip", "fliplr", "flipud", "roll", "rot90"})


def _moved(target: cst.BaseSlice, source: cst.BaseSlice) -> int:
    """1 where ``source`` is moved to higher indices, -1 to lower ones, 0 where that is not plain."""
    if not isinstance(target, cst.Slice) or not isinstance(source, cst.Slice) or target.step or source.step:
        return 0
    for one, other, sign in ((target, source, 1), (source, target, -1)):
        if one.upper is None and other.lower is None and one.lower is not None and _negative(other.upper, one.lower):
            return sign
    return 0


def _negative(node: cst.BaseExpression | None, of: cst.BaseExpression) -> bool:
    negated = isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus)
    return negated and isinstance(node, cst.UnaryOperation) and node.expression.deep_equals(of)
