"""Parts of one tensor, assigned to one another or mixed: what is read has been overwritten."""

from __future__ import annotations

import libcst as cst

from ..heap.state import Declared, same_or_none
from ..heap.values import NONE, Tensor, Tuple, Value
from ..program.nodes import parts
from ..program.site import Site
from ..trace.frames import Frame
from ..trace.trace import Trace
from .log import Event, since
from .text import mentioned


def shift(m: Trace, target: cst.CSTNode, source: cst.CSTNode, base: Value, site: Site) -> None:
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


def transposes(node: cst.CSTNode, part: cst.CSTNode) -> bool:
    """Whether an expression is a part of a tensor in another order, as a view: ``x[i].T``, ``x[i].transpose(0, 1)``."""
    called = node.func if isinstance(node, cst.Call) else node
    if not isinstance(called, cst.Attribute) or not called.value.deep_equals(part):
        return False
    return called.attr.value in (_TRANSPOSING if isinstance(node, cst.Call) else _TRANSPOSED)


_TRANSPOSING = frozenset({"t", "transpose", "swapaxes", "swapdims"})
_TRANSPOSED = frozenset({"T", "mT", "H", "mH"})
ELEMENTWISE = frozenset("add_ sub_ mul_ div_ subtract_ multiply_ divide_ true_divide_ pow_ fmod_ remainder_".split())
"""Arithmetic of each element with one of an operand. What a copy overwrites with itself stays as it is."""


def spread(m: Trace, target: cst.CSTNode, source: cst.CSTNode, base: Value, site: Site) -> None:
    """``x -= x[:, :1]`` reads a part of ``x`` for all the others, and goes on to after it was overwritten.

    Measured: torch refuses a part of the first dimension of contiguous memory, and says nothing of those of others.
    """
    if not isinstance(source, cst.Subscript) or not isinstance(base, Tensor) or not target.deep_equals(source.value):
        return
    indices = [part.slice for part in source.slice]
    while indices and isinstance(indices[0], (cst.Index, cst.Slice)) and _takes_all(indices[0]):
        del indices[0]
    if indices and _takes_one(indices[0]):
        if len(indices) < len(source.slice):
            m.refuse("shift", site)
        elif base.view == "" and base.contiguous:
            m.refuse("overlap", site)


def _takes_all(index: cst.Index | cst.Slice) -> bool:
    if isinstance(index, cst.Slice):
        return index.lower is index.upper is index.step is None
    return isinstance(index.value, cst.Ellipsis)


def _takes_one(index: cst.BaseSlice) -> bool:
    """Whether an index is a number, or a slice of one element: ``0``, ``:1``, ``-1:``, ``3:4``."""
    if isinstance(index, cst.Index):
        return _number(index.value) is not None
    if not isinstance(index, cst.Slice) or index.step is not None:
        return False
    lower, upper = _number(index.lower), _number(index.upper)
    if index.upper is None:
        return lower == -1
    return upper is not None and (index.lower is None or lower is not None) and upper - (lower or 0) == 1


def swap(m: Trace, left: list[cst.BaseExpression], right: list[cst.BaseExpression], values: Tuple, site: Site) -> None:
    """``x[i], x[j] = x[j], x[i]``: the right side are views, and the first assignment changes the second."""
    views = [item.storage for item in map(m.see, values.items) if isinstance(item, Tensor) and item.view]
    crossed = len(left) == len(right) == len(views) == 2 and views[0] is views[1]
    if crossed and left[0].deep_equals(right[1]) and left[1].deep_equals(right[0]):
        m.refuse("read", site)


def remember(m: Trace, target: cst.CSTNode, source: cst.CSTNode, frame: Frame) -> None:
    """``half = x[:n]``: remember how the part that a variable stands for is spelled."""
    pairs = [(target, source)]
    if type(target) is cst.Tuple and type(source) is cst.Tuple:
        pairs = [(one.value, other.value) for one, other in zip(target.elements, source.elements, strict=False)]
    for one, other in pairs:
        if type(one) is cst.Name and type(other) is cst.Subscript:
            m.state.set(m.state[PARTS], (frame, one.value), (other, frame.times.get(one.value, 0)))


PARTS: Declared[tuple[Frame, str], tuple[cst.Subscript, int] | None] = Declared(same_or_none)


def turn(m: Trace, target: cst.CSTNode, source: cst.CSTNode, frame: Frame) -> None:
    """``x[:n] = a * c - b * s``, then ``x[n:] = b * c + a * s``, where ``a`` is ``x[:n]`` and overwritten by now."""
    if not m.state[PARTS] or type(target) is not cst.Subscript:
        return
    for used in dict.fromkeys(mentioned(source)):
        spelled, bound = m.state[PARTS].get((frame, used)) or (None, 0)
        value = m.see(frame.vars.get(used, NONE))
        if spelled is None or frame.times.get(used) != bound or not isinstance(value, Tensor) or not value.view:
            continue
        if target.deep_equals(spelled) or not target.value.deep_equals(spelled.value):
            continue
        index = set(mentioned(spelled)) - set(mentioned(spelled.value))
        if any(_changed(m, part, bound, frame) for part in index):
            continue
        for event in since(m, value, bound):
            itself = isinstance(event.line, cst.Assign) and used in mentioned(event.line.value)
            if itself and event.frames[-1] is frame and event.site.expression.deep_equals(spelled):
                m.refuse("read", event.site)


def blend(m: Trace, node: cst.Call, receiver: Value, site: Site) -> None:
    """``x.mul_(a).add_(x.flip(0))`` means to mix ``x`` with itself in another order, which was multiplied before."""
    chain = node.func.value if isinstance(node.func, cst.Attribute) else None
    name = chain
    while isinstance(name, cst.Call) and isinstance(name.func, cst.Attribute) and name.func.attr.value.endswith("_"):
        name = name.func.value
    if name is chain or not isinstance(name, cst.Name) or not isinstance(receiver, Tensor):
        return
    if _undoes(node, frozenset(mentioned(chain)) - {name.value} if chain is not None else frozenset()):
        return
    if any(_reordered(arg.value, name) for arg in node.args):
        m.refuse("read", site)


def _undoes(node: cst.CSTNode, names: frozenset[str]) -> bool:
    """Whether an expression divides by what the elements were multiplied by."""
    divides = isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Divide)
    if isinstance(node, cst.BinaryOperation) and divides and not names.isdisjoint(mentioned(node.right)):
        return True
    return any(_undoes(child, names) for child in parts(node))


def _reordered(node: cst.CSTNode, name: cst.Name) -> bool:
    """Whether an expression reads the elements of a variable in another order: ``x.flip(0)``, ``torch.roll(x, 1)``."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _REORDERING:
        read = (node.func.value, *(arg.value for arg in node.args[:1]))
        if any(part.deep_equals(name) for part in read):
            return True
    return any(_reordered(child, name) for child in parts(node))


_REORDERING = frozenset({"flip", "fliplr", "flipud", "roll", "rot90"})


def spared(m: Trace, node: cst.Subscript, frame: Frame) -> bool:
    """Whether ``x[~mask]`` reads nothing of what was written since ``x`` was bound: ``y = x; y[mask] = 0``."""
    name = node.value.value if isinstance(node.value, cst.Name) else ""
    value = m.see(frame.vars[name]) if name in frame.vars else None
    if not isinstance(value, Tensor):
        return False
    events = since(m, value, frame.times.get(name, frame.born))
    return bool(events) and all(_elsewhere(m, node, value, event, frame) for event in events)


def _elsewhere(m: Trace, read: cst.Subscript, value: Tensor, event: Event, frame: Frame) -> bool:
    """Whether a write was spelled with an index that has no element in common with that of ``read``."""
    node = event.site.expression
    if isinstance(node, cst.AugAssign):
        node = node.target
    elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        node = node.func.value
    if frame is not event.frames[-1] or not isinstance(node, cst.Subscript) or not isinstance(node.value, cst.Name):
        return False
    whole = (value, m.see(frame.vars.get(node.value.value, NONE)))
    if not all(isinstance(part, Tensor) and part.view == "" and part.origin != "maybe" for part in whole):
        return False
    names = [name for part in node.slice for name in mentioned(part)]
    if any(_changed(m, name, event.time, frame) for name in names):
        return False
    pairs = [(one.slice, other.slice) for one, other in zip(node.slice, read.slice, strict=False)]
    return frame.times.get(node.value.value, frame.born) < event.time and any(disjoint(*pair) for pair in pairs)


def _changed(m: Trace, name: str, time: int, frame: Frame) -> bool:
    """Whether a variable that an index is made of is another since ``time``, or holds other values."""
    value = m.see(frame.vars.get(name, NONE))
    written = isinstance(value, Tensor) and any(event.name == name for event in since(m, value, time))
    return written or frame.times.get(name, frame.born) > time


def disjoint(one: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether two indices of one dimension select different elements: ``:k`` and ``k:``, ``mask`` and ``~mask``."""
    if isinstance(one, cst.Index) and isinstance(other, cst.Index):
        first, second = _number(one.value), _number(other.value)
        if first is not None and second is not None:
            return first != second and (first < 0) is (second < 0)
        return any(_inverts(a.value, b.value) for a, b in ((one, other), (other, one)))
    if not isinstance(one, cst.Slice) or not isinstance(other, cst.Slice):
        return False
    if one.step is None and other.step is None:
        return any(_ends_at(a, b) for a, b in ((one, other), (other, one)))
    starts, step = (_number(one.lower) or 0, _number(other.lower) or 0), _number(one.step) or 1
    return step == _number(other.step) and min(starts) >= 0 and (starts[0] - starts[1]) % step != 0


def _ends_at(one: cst.Slice, other: cst.Slice) -> bool:
    return one.upper is not None and other.lower is not None and one.upper.deep_equals(other.lower)


def _inverts(one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
    inverted = isinstance(one, cst.UnaryOperation) and isinstance(one.operator, cst.BitInvert)
    return inverted and isinstance(one, cst.UnaryOperation) and one.expression.deep_equals(other)


def _number(node: cst.BaseExpression | None) -> int | None:
    """A whole number that the text writes down."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        number = _number(node.expression)
        return None if number is None else -number
    return int(node.value) if isinstance(node, cst.Integer) and node.value.isdecimal() else None


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
