"""Literals: constants, strings, tuples, lists and dictionaries."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache

import libcst as cst

from ..heap.values import Const, Dict, Items, List, Tuple, Unknown, Value, constant
from ..models import arithmetic, containers, iteration
from ..trace import events
from ..trace.frames import Frame
from ..trace.trace import Trace
from .dispatch import evaluate, evaluates


@evaluates(cst.Integer, cst.Float, cst.Imaginary, cst.SimpleString)
def _literal(m: Trace, node: cst.Integer | cst.Float | cst.Imaginary | cst.SimpleString, frame: Frame) -> Value:
    return _constant_of(node.value) or Unknown(scalar=True)


@lru_cache(1024)
def _constant_of(text: str) -> Const | None:
    """Return the constant of a literal; None if it is too long for Python."""
    if text.isdecimal() and (text[0] != "0" or len(text) == 1):
        return Const(int(text))
    if text[0] in "\"'" and "\\" not in text:
        return Const(text[1:-1])
    try:
        return Const(float(text) if text[0].isdecimal() and "." in text else ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError):
        return None


@evaluates(cst.Ellipsis)
def _ellipsis(m: Trace, node: cst.Ellipsis, frame: Frame) -> Value:
    return Const(...)


@evaluates(cst.FormattedString)
def _string(m: Trace, node: cst.FormattedString, frame: Frame) -> Value:
    """Return the value of an f-string: a constant if all its parts are."""
    values: list[Value] = []
    for part in node.parts:
        if isinstance(part, cst.FormattedStringText):
            values.append(Const(part.value))
        elif isinstance(part, cst.FormattedStringExpression):
            value = m.see(evaluate(m, part.expression, frame))
            plain = part.conversion is None and part.format_spec is None
            values.append(value if plain and isinstance(value, (Const, Unknown)) else Unknown(scalar=True))
    if all(isinstance(value, Const) and arithmetic.is_small(value.value) for value in values):
        return Const("".join(str(constant(value)) for value in values))
    return m.symbol("string", *values, scalar=True)


def _elements(
    m: Trace, elements: Sequence[cst.BaseElement], frame: Frame, made: List | None = None
) -> tuple[list[Value], bool]:
    """The elements of a display, and whether these are all. They are put into a list ``made`` one after the other."""
    items: list[Value] = []
    exact = True
    read: list[tuple[cst.BaseExpression, Value, int]] = []
    for element in elements:
        value = evaluate(m, element.value, frame)
        read.append((element.value, value, m.clock))
        if type(element) is cst.StarredElement:
            if made is not None and isinstance(source := m.see(value), (List, Tuple)):
                events.pass_on(m, source, made, iteration.elements_all(m, source)[0])
            more, done = iteration.collected(m, value)
            items.extend(more)
            exact = exact and done
            if made is not None:
                m.state.put(made, Items(tuple(items)))
        else:
            items.append(value)
            if made is not None:
                containers.append(m, made, value)
    for node, value, since in read:
        use_operand(m, node, value, since, frame)
    return items, exact


@evaluates(cst.Tuple)
def _tuple(m: Trace, node: cst.Tuple, frame: Frame) -> Value:
    items, exact = _elements(m, node.elements, frame)
    return Tuple(tuple(items)) if exact else List(items, True, m.clock)


@evaluates(cst.List, cst.Set)
def _list(m: Trace, node: cst.List | cst.Set, frame: Frame) -> Value:
    if not any(type(element) is cst.StarredElement for element in node.elements):
        items, exact = _elements(m, node.elements, frame)
        return List(items, not exact, m.clock)
    made = List()  # ``[*kept, x]``: it matters since when a list holds its elements
    items, exact = _elements(m, node.elements, frame, made)
    m.state.put(made, Items(tuple(items), not exact))
    return made


@evaluates(cst.Dict)
def _dict(m: Trace, node: cst.Dict, frame: Frame) -> Value:
    result = Dict()
    read: list[tuple[cst.BaseExpression, Value, int]] = []
    for element in node.elements:
        key = evaluate(m, element.key, frame) if isinstance(element, cst.DictElement) else None
        value = evaluate(m, element.value, frame)
        read.append((element.value, value, m.clock))
        if key is not None:
            containers.set_item(m, result, key, value)
        else:
            containers.update(m, result, value, {})
            events.copied(m, m.see(value), result, False)
    for expression, value, since in read:
        use_operand(m, expression, value, since, frame)
    return result


def use_operand(m: Trace, node: cst.BaseExpression, value: Value, since: int, frame: Frame) -> None:
    """Emit the use of an operand that was evaluated at ``since``, if something was evaluated after it."""
    if m.clock != since:
        events.read_operand(m, m.see(value), since, isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)))
