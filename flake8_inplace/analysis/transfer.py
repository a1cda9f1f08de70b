"""Expressions: one function a node type, from syntax to values. Statements and joins are the interpreter's."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import libcst as cst

from ..torchfacts import ops as facts
from . import calls, classes, containers, kept, slices, stale, tensors
from .calls import GradMode
from .domain import (
    ALWAYS,
    ITEMS,
    NONE,
    Array,
    Choice,
    Condition,
    Const,
    Dict,
    Exit,
    Items,
    List,
    Object,
    Ref,
    Slice,
    Tensor,
    Tuple,
    Unknown,
    Value,
    choose,
    part_grad,
)
from .machine import Bound, Class, Frame, Function, Machine, Method, Site, Super, constant

_BINARY = {
    cst.Add: "add", cst.Subtract: "sub", cst.Multiply: "mul", cst.Divide: "truediv", cst.FloorDivide: "floordiv",
    cst.Modulo: "mod", cst.Power: "pow", cst.MatrixMultiply: "matmul", cst.BitAnd: "and", cst.BitOr: "or",
    cst.BitXor: "xor", cst.LeftShift: "lshift", cst.RightShift: "rshift",
}  # fmt: skip
_COMPARISON = {
    cst.Equal: "eq", cst.NotEqual: "ne", cst.LessThan: "lt", cst.LessThanEqual: "le", cst.GreaterThan: "gt",
    cst.GreaterThanEqual: "ge", cst.Is: "eq", cst.IsNot: "ne",
}  # fmt: skip
AUGMENTED = {
    cst.AddAssign: "add", cst.SubtractAssign: "sub", cst.MultiplyAssign: "mul", cst.DivideAssign: "truediv",
    cst.FloorDivideAssign: "floordiv", cst.ModuloAssign: "mod", cst.PowerAssign: "pow",
    cst.MatrixMultiplyAssign: "matmul", cst.BitAndAssign: "and", cst.BitOrAssign: "or", cst.BitXorAssign: "xor",
    cst.LeftShiftAssign: "lshift", cst.RightShiftAssign: "rshift",
}  # fmt: skip


def site_of(node: cst.CSTNode, frame: Frame) -> Site:
    """Where to report what this expression does: the token that names the operation."""
    token: cst.CSTNode = node
    if type(node) is cst.Call:
        token = node.func.attr if type(node.func) is cst.Attribute else node.func
    elif type(node) is cst.Subscript:
        token = node.lbracket
    elif type(node) is cst.BinaryOperation or type(node) is cst.AugAssign:
        token = node.operator
    return Site(frame.piece, token, node)


def evaluate(m: Machine, node: cst.BaseExpression, frame: Frame) -> Value:
    """The value of an expression; its side effects happen."""
    handler = _HANDLERS.get(type(node))
    return handler(m, node, frame) if handler is not None else Unknown()


# -- names and attributes


def lookup(m: Machine, name: str, frame: Frame) -> Value | None:
    """The value of a variable: local, enclosing, of the module, or built in."""
    scope: Frame | None = frame
    while scope is not None:
        if name in scope.vars:
            return scope.vars[name]
        if scope.parent is None:
            return module_name(m, name, scope)
        scope = scope.parent
    return None


def module_name(m: Machine, name: str, module: Frame) -> Value | None:
    """A name of the file that has not been bound yet: the statements that bind it are read now."""
    for piece in m.file.binders.get(name, ()):
        m.load(piece, module)
    if name in module.vars:
        return module.vars[name]
    return Ref(f"builtins.{name}") if hasattr(builtins, name) else None


_CONSTANTS: dict[str, Value] = {"True": Const(True), "False": Const(False), "None": NONE}


def _name(m: Machine, node: cst.Name, frame: Frame) -> Value:
    value = _variable(m, node, frame)
    if (m.events and type(value) is Tensor) or m.overtaken:
        scope: Frame | None = frame
        while scope is not None and node.value not in scope.vars:
            scope = scope.parent
        if scope is not None:
            stale.read_name(m, node.value, value, scope)
            kept.overtaken(m, scope, node.value)
    return value


def quietly(m: Machine, node: cst.BaseExpression, frame: Frame) -> Value:
    """The value of an expression of which no elements are read."""
    if type(node) is cst.Name:
        return _variable(m, node, frame)
    before, m.unread = m.unread, type(node) in (cst.Subscript, cst.Attribute)
    try:
        return evaluate(m, node, frame)
    finally:  # what is nested too deeply is left, and the file read on
        m.unread = before


def _variable(m: Machine, node: cst.Name, frame: Frame) -> Value:
    if node.value in _CONSTANTS:
        return _CONSTANTS[node.value]
    if node.value[0] == "_" and m.grad_mode:
        m.asked.add(node.value)
    value = lookup(m, node.value, frame)
    if value is None:
        return m.symbol("name", node.value) if node.value != "reveal" else Ref("reveal")
    return m.see(value)


def _attribute(m: Machine, node: cst.Attribute, frame: Frame) -> Value:
    read = quietly if node.attr.value in stale.METADATA else evaluate
    if node.attr.value[0] == "_" and m.grad_mode:
        m.asked.add(node.attr.value)
    return attribute(m, read(m, node.value, frame), node.attr.value, Site(frame.piece, node.attr, node))


def attribute(m: Machine, value: Value, name: str, site: Site) -> Value:
    """``value.name``."""
    value = m.see(value)
    if isinstance(value, Tensor):
        return tensors.attribute(m, value, name, site)
    if isinstance(value, Ref):
        return Ref(f"{value.name}.{name}")
    if isinstance(value, Object):
        return classes.attribute(m, value, name, site)
    if isinstance(value, Super):
        return classes.super_attribute(m, value, name, site)
    if isinstance(value, (Class, Function)) and name == "__name__":
        return Const(value.name)
    if isinstance(value, Class):
        found = classes.member(value, name)
        if isinstance(found, Function):
            return Bound(found, value) if found.kind == "class" else found
        if found is None and name == "apply":
            return Method(Object(value), name, site.node)
        return found if found is not None else m.symbol(value, name)
    if isinstance(value, Choice):
        if name == "requires_grad" and (asked := _asked(m, value)) is not None:
            return asked
        if tensors.is_method(name) and all(isinstance(m.see(option), Tensor) for _, option in value.options):
            return Method(value, name, site.node)  # whichever it is, the call is the same
        return m.split([value], lambda options: attribute(m, options[0], name, site))
    if isinstance(value, Tuple):
        return tensors.output(value, name)
    if isinstance(value, Unknown):
        return _unknown_attribute(m, value, name, site)
    if isinstance(value, (List, Dict)):
        return Method(value, name, site.node)
    if isinstance(value, Array):
        return value if name == "T" else Method(value, name, site.node)
    if isinstance(value, Const) and name == "value":
        return value  # of a member of an enumeration
    if isinstance(value, Const) and isinstance(value.value, str):
        return Method(value, name, site.node)
    return Unknown(scalar=isinstance(value, Const))


def _asked(m: Machine, value: Choice) -> Value | None:
    """Whether one of several tensors requires grad, whichever it is; None where it may be no tensor."""
    options = [m.see(option) for guard, option in value.options if m.state.possible(guard)]
    cells = [option.cell for option in options if isinstance(option, Tensor)]
    return m.ask(*cells) if cells and len(cells) == len(options) else None


def _unknown_attribute(m: Machine, value: Unknown, name: str, site: Site) -> Value:
    if value.default is not None and isinstance(m.see(value.default), (Class, Ref, Object)):
        return attribute(m, value.default, name, site)
    if value.scalar:
        return m.symbol(value, name, scalar=True)
    if (value, name) in m.state.store:
        return m.see(m.state.store[value, name])
    if name in ("shape", "dtype", "device"):
        return m.symbol(value, name, scalar=True)
    if name in ("state_dict", "load_state_dict"):
        return Method(value, name, site.node)
    if name in ("parameters", "named_parameters", "train", "eval"):  # what optimizers and schedulers have not
        m.modules.add(value)
    if name in facts.tensor_methods() and name not in ("data", "grad", "T", "real", "imag", "values", "indices"):
        return Method(value, name, site.node)
    if name == "data" and value.likely:
        return tensors.attribute(m, m.promote(value), name, site)  # type: ignore[arg-type]
    part = m.symbol(value, name, grad=part_grad(value))
    part.node = part.node or value.node
    stale.read_part(m, m.see(part))
    return part


# -- constants and containers


def _literal(m: Machine, node: Any, frame: Frame) -> Value:
    return _constant_of(node.value) or Unknown(scalar=True)


@lru_cache(1024)
def _constant_of(text: str) -> Const | None:
    """The constant that a literal spells; None where it is too long for Python."""
    if text.isdecimal() and (text[0] != "0" or len(text) == 1):
        return Const(int(text))
    if text[0] in "\"'" and "\\" not in text:
        return Const(text[1:-1])
    try:
        return Const(float(text) if text[0].isdecimal() and "." in text else ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError):
        return None


def _string(m: Machine, node: cst.FormattedString, frame: Frame) -> Value:
    """A string put together from parts: a constant where all of them are."""
    values: list[Value] = []
    for part in node.parts:
        if isinstance(part, cst.FormattedStringText):
            values.append(Const(part.value))
        elif isinstance(part, cst.FormattedStringExpression):
            value = m.see(evaluate(m, part.expression, frame))
            plain = part.conversion is None and part.format_spec is None
            values.append(value if plain and isinstance(value, (Const, Unknown)) else Unknown(scalar=True))
    if all(isinstance(value, Const) and containers.is_small(value.value) for value in values):
        return Const("".join(str(constant(value)) for value in values))
    return m.symbol("string", *values, scalar=True)


def _elements(m: Machine, elements: Any, frame: Frame) -> tuple[list[Value], bool]:
    items: list[Value] = []
    exact = True
    read: list[tuple[cst.BaseExpression, Value, int]] = []
    for element in elements:
        value = evaluate(m, element.value, frame)
        read.append((element.value, value, m.clock))
        if type(element) is cst.StarredElement:
            more, done = containers.elements(m, value)
            items.extend(more)
            exact = exact and done
        else:
            items.append(value)
    for node, value, since in read:
        _unchanged(m, node, value, since, frame)
    return items, exact


def _tuple(m: Machine, node: cst.Tuple, frame: Frame) -> Value:
    items, exact = _elements(m, node.elements, frame)
    return Tuple(tuple(items)) if exact else List(items, True, m.clock)


def _list(m: Machine, node: cst.List | cst.Set, frame: Frame) -> Value:
    items, exact = _elements(m, node.elements, frame)
    return List(items, not exact, m.clock)


def _dict(m: Machine, node: cst.Dict, frame: Frame) -> Value:
    result = Dict()
    read: list[tuple[cst.BaseExpression, Value, int]] = []
    for element in node.elements:
        key = evaluate(m, element.key, frame) if isinstance(element, cst.DictElement) else None
        value = evaluate(m, element.value, frame)
        read.append((element.value, value, m.clock))
        if key is not None:
            containers.set_item(m, result, key, value)
        else:
            containers.dict_method(m, result, "update", [value], {})
    for expression, value, since in read:
        _unchanged(m, expression, value, since, frame)
    return result


# -- operators


def _binary(m: Machine, node: cst.BinaryOperation, frame: Frame) -> Value:
    left = evaluate(m, node.left, frame)
    since = m.clock
    right = evaluate(m, node.right, frame)
    _unchanged(m, node.left, left, since, frame)
    return containers.operator(m, _BINARY[type(node.operator)], left, right, site_of(node, frame))


def _unchanged(m: Machine, node: cst.BaseExpression, value: Value, since: int, frame: Frame) -> None:
    """An operand that is a plain name must not be overwritten by what is evaluated after it."""
    if m.clock != since and isinstance(node, (cst.Name, cst.Attribute)):
        stale.operand(m, value, since)


def _unary(m: Machine, node: cst.UnaryOperation, frame: Frame) -> Value:
    value = m.see(evaluate(m, node.expression, frame))
    if isinstance(node.operator, cst.Not):
        test = condition(m, value)
        if isinstance(test, bool):
            return Const(not test)
        return Condition(test.false, test.true)
    name = {cst.Minus: "neg", cst.Plus: "pos", cst.BitInvert: "invert"}[type(node.operator)]
    if isinstance(value, Tensor):
        return tensors.apply(m, facts.lookup(f"Tensor.__{name}__"), [value], {}, site_of(node, frame))
    made = classes.special(m, value, f"__{name}__", [], site_of(node, frame))
    if made is not None:
        return made
    if isinstance(value, Choice):
        ops = facts.lookup(f"Tensor.__{name}__")
        return tensors.apply(m, ops, [value], {}, site_of(node, frame))
    if isinstance(value, Const) and isinstance(value.value, (int, float)):
        try:
            return Const({"neg": lambda v: -v, "pos": lambda v: +v, "invert": lambda v: ~v}[name](value.value))
        except TypeError:
            return Unknown(scalar=True)
    result = m.symbol(name, value, scalar=isinstance(value, Unknown) and value.scalar, grad=m.grad(value))
    result.node = result.node or (value.node if isinstance(value, Unknown) else None)
    return result


def _comparison(m: Machine, node: cst.Comparison, frame: Frame) -> Value:
    same = all(type(target.operator) in (cst.Is, cst.IsNot) for target in node.comparisons)
    read = quietly if same else evaluate
    left = m.see(read(m, node.left, frame))
    result: Value = Unknown(scalar=True)
    for target in node.comparisons:
        right = m.see(read(m, target.comparator, frame))
        operator = target.operator
        if type(operator) in (cst.Is, cst.IsNot):
            result = _identity(m, left, right, isinstance(operator, cst.Is))
        elif type(operator) in _COMPARISON:
            result = containers.operator(m, _COMPARISON[type(operator)], left, right, Site(frame.piece, operator, node))
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


def _contains(m: Machine, item: Value, whole: Value) -> bool | None:
    """Whether ``item in whole``, for strings and for containers of constants."""
    if not isinstance(item, Const):
        return None
    if isinstance(whole, Const) and isinstance(whole.value, str) and isinstance(item.value, str):
        return item.value in whole.value
    if isinstance(whole, Dict) and not m.state.get(whole).open:
        return item.value in m.state.get(whole).items
    if isinstance(whole, (Tuple, List)):
        items = whole.items if isinstance(whole, Tuple) else m.state.get(whole).items
        closed = isinstance(whole, Tuple) or not m.state.get(whole).open
        if closed and all(isinstance(m.see(other), Const) for other in items):
            return any(m.see(other) == item for other in items)
    return None


def _identity(m: Machine, left: Value, right: Value, positive: bool) -> Value:
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


def _boolean(m: Machine, node: cst.BooleanOperation, frame: Frame) -> Value:
    left = m.see(evaluate(m, node.left, frame))
    test = condition(m, left)
    conjunction = isinstance(node.operator, cst.And)
    if isinstance(test, bool):
        return evaluate(m, node.right, frame) if test is conjunction else left
    mark = m.state.mark()
    m.state.assume(test.true if conjunction else test.false)
    assumed = m.state.mark()
    right = m.see(evaluate(m, node.right, frame))
    changed = m.state.changes(mark) if m.state.mark() > assumed else {}
    m.state.merge(mark, [Exit(ALWAYS, changed), Exit(ALWAYS, {})])
    if _plain(left) and not isinstance(right, (Tensor, List, Tuple, Dict, Object)):
        other = condition(m, right)
        if isinstance(other, bool):
            return left if other is conjunction else (right if isinstance(right, Const) else Const(other))
        if conjunction:
            return both(m, "and", test, other)
        neither = both(m, "or", Condition(test.false, test.true), Condition(other.false, other.true))
        return Condition(neither.false, neither.true)
    return choose([(test.false if conjunction else test.true, left), (test.true if conjunction else test.false, right)])


def _plain(value: Value) -> bool:
    """Whether a value is no more than an answer to a question."""
    if isinstance(value, Choice):
        return all(isinstance(option, (Const, Unknown, Condition)) for _, option in value.options)
    return isinstance(value, (Condition, Unknown))


def both(m: Machine, kind: str, left: Condition, right: Condition) -> Condition:
    """Whether two conditions hold; where they do not, it is known only that this very test came out so."""
    if left.false == right.false:
        return Condition(left.true | right.true, left.false)
    failed = m.symbol(kind, left.false, right.false, scalar=True)
    return Condition(left.true | right.true | {(failed, False)}, frozenset({(failed, True)}))


def condition(m: Machine, value: Value) -> bool | Condition:
    """What is known about the truth of a value."""
    value = m.see(value)
    if isinstance(value, Condition):
        if not m.state.possible(value.true):
            return False
        if not m.state.possible(value.false):
            return True
        return value
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Tuple):
        return bool(value.items)
    if isinstance(value, List):
        contents = m.state.get(value)
        if not contents.open:
            return bool(contents.items)
    if isinstance(value, (Function, Class, Ref)):
        return True
    if isinstance(value, Choice):
        truths = {condition(m, option) for guard, option in value.options if m.state.possible(guard)}
        if truths == {True} or truths == {False}:
            return truths.pop()
        if all(isinstance(t, bool) for t in truths) and len(value.options) == 2:
            (first, option), (second, _) = value.options
            return Condition(first, second) if condition(m, option) else Condition(second, first)
    if isinstance(value, Choice) and _plain(value):
        value = m.symbol("true", value.options, scalar=True)  # asked again, the answer is the same
    if isinstance(value, Unknown):
        if value.positive:
            return True
        known = m.state.path.get(value)
        if known is not None:
            return known
        symbol = value
    else:
        symbol = Unknown(scalar=True)
    return Condition(frozenset({(symbol, True)}), frozenset({(symbol, False)}))


def branch(m: Machine, value: Value, arms: tuple[Callable[[], Value], Callable[[], Value]]) -> Value:
    """Evaluate one of two expressions, or both where the test is not known."""
    test = condition(m, value)
    if isinstance(test, bool):
        return arms[0 if test else 1]()
    mark, exits = m.state.mark(), []
    for guard, arm in ((test.true, arms[0]), (test.false, arms[1])):
        m.state.assume(guard)
        result = arm()
        exits.append(Exit(guard, m.state.changes(mark), result))
        m.state.rollback(mark)
    m.state.merge(mark, exits)
    return choose([(way.guard, way.value) for way in exits])


def _conditional(m: Machine, node: cst.IfExp, frame: Frame) -> Value:
    test = evaluate(m, node.test, frame)
    return branch(m, test, (lambda: evaluate(m, node.body, frame), lambda: evaluate(m, node.orelse, frame)))


# -- subscripts


def index_of(m: Machine, node: cst.Subscript, owner: Value, frame: Frame) -> Value:
    """The value between the brackets; a tensor that is the key of a dictionary is looked up, not read."""
    read = evaluate if not m.events or isinstance(m.see(owner), (Tensor, Array, Choice)) else quietly
    items: list[Value] = []
    for element in node.slice:
        if isinstance(element.slice, cst.Index):
            items.append(m.see(read(m, element.slice.value, frame)))
        elif isinstance(element.slice, cst.Slice):
            bounds = (element.slice.lower, element.slice.upper, element.slice.step)
            items.append(Slice(*(m.see(evaluate(m, bound, frame)) if bound is not None else NONE for bound in bounds)))
    trailing = type(node.slice[-1].comma) is cst.Comma
    return items[0] if len(items) == 1 and not trailing else Tuple(tuple(items))


def _subscript(m: Machine, node: cst.Subscript, frame: Frame) -> Value:
    read = quietly if m.events and slices.spared(m, node, frame) else evaluate
    value = read(m, node.value, frame)
    index = index_of(m, node, value, frame)
    return subscript(m, value, index, Site(frame.piece, node.lbracket, node))


def subscript(m: Machine, value: Value, index: Value, site: Site) -> Value:
    value = classes.as_tuple(m, m.see(value))
    if isinstance(value, Choice):
        return m.split([value], lambda options: subscript(m, options[0], index, site))
    if isinstance(value, Unknown) and value.likely and _slices(index):
        value = m.promote(value)
    if isinstance(value, Tensor):
        return tensors.subscript(m, value, index, site)
    if isinstance(value, Object):
        contents = m.state.get(value).items
        if ITEMS in contents:
            part = subscript(m, contents[ITEMS], index, site)
            of_modules = isinstance(value.cls, Ref) and classes.is_module(value.cls)
            return Object(value.cls, {ITEMS: part}) if of_modules and isinstance(m.see(index), Slice) else part
        found = classes.member(value.cls, "__getitem__")
        return m.run(found, [value, index], {}, site) if isinstance(found, Function) else Unknown()
    if isinstance(value, (Ref, Class)):
        return value
    if isinstance(value, Array):
        return Unknown(scalar=True) if tensors.is_advanced(m, index) else Array(value.storage)
    return containers.get_item(m, value, index)


def _slices(index: Value) -> bool:
    items = index.items if isinstance(index, Tuple) else ()
    return any(isinstance(item, (Slice, Tensor)) or item in (Const(...), NONE) for item in items)


# -- calls


def _call(m: Machine, node: cst.Call, frame: Frame) -> Value:
    if type(node.func) is cst.Name and node.func.value in ("super", "reveal", "getattr", "setattr", "vars"):
        special = _special_call(m, node, node.func.value, frame)
        if special is not None:
            return special
    callee = evaluate(m, node.func, frame)
    if isinstance(callee, Method) and type(frame.line) is cst.Expr and frame.line.value is node:
        _discarded(m, node, callee, frame)
    since = m.clock
    args, kwargs = arguments(m, node, frame)
    if isinstance(callee, Method) and isinstance(node.func, cst.Attribute):
        if callee.name.endswith("_"):
            slices.blend(m, node, m.see(callee.receiver), site_of(node.func.value, frame))
            for arg in node.args[:1] if callee.name in slices.ELEMENTWISE else ():
                slices.spread(m, node.func.value, arg.value, m.see(callee.receiver), site_of(node, frame))
        else:
            _unchanged(m, node.func.value, m.see(callee.receiver), since, frame)
    return calls.call(m, callee, args, kwargs, site_of(node, frame))


def _discarded(m: Machine, node: cst.Call, callee: Method, frame: Frame) -> None:
    """``x.clamp(0, 1)`` as a statement changes nothing; where an error is expected it is the error that is meant."""
    name, func = callee.name, node.func
    if frame.tries or m.state.modes.get("expecting") or name == "requires_grad" or not isinstance(func, cst.Attribute):
        return
    confused = f"{name}_" in facts.inplace_methods() and name in facts.tensor_methods()
    plain = isinstance(func.value, (cst.Name, cst.Attribute, cst.Subscript))
    if confused and plain and isinstance(m.see(callee.receiver), Tensor):
        m.refuse("discarded", Site(frame.piece, func.attr, node))


def arguments(m: Machine, node: cst.Call, frame: Frame) -> tuple[list[Value], dict[str, Value]]:
    args: list[Value] = []
    kwargs: dict[str, Value] = {}
    quiet = type(node.func) is cst.Name and node.func.value in stale.QUIET
    read: list[tuple[cst.BaseExpression, Value, int]] = []
    for arg in node.args:
        value = (quietly if quiet else evaluate)(m, arg.value, frame)
        read.append((arg.value, value, m.clock))
        if arg.star == "*":
            args.extend(containers.elements(m, value)[0])
        elif arg.star == "**":
            given = {str(key): item for key, item in classes.entries(m, value).items.items()}
            if (m.events or m.stored) and isinstance(table := m.see(value), Dict):
                for item in given.values():
                    stale.taken(m, table, m.see(item), known=False)
            kwargs |= given
        elif arg.keyword is not None:
            kwargs[arg.keyword.value] = value
        else:
            args.append(value)
    for expression, value, since in read if read and read[0][2] != m.clock else ():
        _unchanged(m, expression, value, since, frame)
    return args, kwargs


def _special_call(m: Machine, node: cst.Call, name: str, frame: Frame) -> Value | None:
    if name == "super":
        scope: Frame | None = frame
        while scope is not None and scope.owner is None:
            scope = scope.parent
        if scope is None or scope.owner is None or scope.receiver is None:
            return Unknown()
        return Super(scope.owner, scope.receiver)
    if name == "reveal" and lookup(m, name, frame) is None and node.args:
        value = evaluate(m, node.args[0].value, frame)
        m.reveals.append((site_of(node, frame), tensors.describe(m, value)))
        return NONE
    if name in ("getattr", "setattr") and len(node.args) >= 2:
        owner = m.see(evaluate(m, node.args[0].value, frame))
        attr = constant(evaluate(m, node.args[1].value, frame))
        if isinstance(attr, str):
            if name == "getattr":
                return attribute(m, owner, attr, site_of(node, frame))
            if len(node.args) > 2 and isinstance(owner, Object):
                value = evaluate(m, node.args[2].value, frame)
                classes.set_attribute(m, owner, attr, value, site_of(node, frame))
                return NONE
    return None


# -- functions, comprehensions and the rest


def _lambda(m: Machine, node: cst.Lambda, frame: Frame) -> Value:
    defaults = {p.name.value: evaluate(m, p.default, frame) for p in node.params.params if p.default is not None}
    m.scopes.append(frame)
    return Function("lambda", node, frame.piece, frame, defaults=defaults)


@dataclass(slots=True)
class _Made:
    """What a comprehension has made so far, and what it goes over."""

    rows: list[Value] = field(default_factory=list)
    pairs: dict[Any, Value] = field(default_factory=dict)
    sources: list[Value] = field(default_factory=list)


def _comprehension(m: Machine, node: Any, frame: Frame) -> Value:
    """Comprehensions run in a frame of their own, as many rounds as their loops are read."""
    inner, made = Frame({}, frame.piece, frame, loops=frame.loops), _Made()
    exact = _rounds(m, node, node.for_in, frame, inner, made)
    for source in made.sources if m.handed and not isinstance(node, cst.GeneratorExp) else ():
        containers.collected(m, source, [*made.rows, *made.pairs.values()])
    return Dict(made.pairs, not exact) if isinstance(node, cst.DictComp) else List(made.rows, not exact, m.clock)


def _rounds(m: Machine, node: Any, part: cst.CompFor, frame: Frame, inner: Frame, made: _Made) -> bool:
    """The rounds of one ``for`` of a comprehension, and of those in it; whether these are all."""
    source = evaluate(m, part.iter, frame)
    made.sources.append(source)
    items, exact = containers.elements(m, source)
    for item in items:
        m.bind(part.target, item, inner)
        if any(condition(m, evaluate(m, test.test, inner)) is False for test in part.ifs):
            continue
        if part.ifs:
            exact = False
        if part.inner_for_in is not None:
            exact = _rounds(m, node, part.inner_for_in, inner, inner, made) and exact
        elif isinstance(node, cst.DictComp):
            key = m.see(evaluate(m, node.key, inner))
            made.pairs[containers.key_of(key) if isinstance(key, Const) else key] = evaluate(m, node.value, inner)
        else:
            made.rows.append(evaluate(m, node.elt, inner))
    return exact


def _walrus(m: Machine, node: cst.NamedExpr, frame: Frame) -> Value:
    value = evaluate(m, node.value, frame)
    m.bind(node.target, value, frame)
    return value


def _await(m: Machine, node: cst.Await, frame: Frame) -> Value:
    return evaluate(m, node.expression, frame)


def _yield(m: Machine, node: cst.Yield, frame: Frame) -> Value:
    if isinstance(node.value, cst.From):
        value = evaluate(m, node.value.item, frame)
        items = containers.elements(m, value)[0]
    else:
        items = [evaluate(m, node.value, frame)] if node.value is not None else []
    if frame.function is not None and frame.function.resume is not None:
        for item in items or [NONE]:
            frame.function.resume(item)
        return Unknown()
    if frame.yields is None:
        frame.yields = List(open=True)
    contents = m.state.get(frame.yields)
    m.state.put(frame.yields, Items((*contents.items, *items), True))
    m.handed.setdefault(frame.yields, []).extend((m.tick(), frame, item) for item in items)
    return Unknown()


_HANDLERS: dict[type, Callable[[Machine, Any, Frame], Value]] = {
    cst.Name: _name,
    cst.Attribute: _attribute,
    cst.Integer: _literal,
    cst.Float: _literal,
    cst.Imaginary: _literal,
    cst.SimpleString: _literal,
    cst.FormattedString: _string,
    cst.Ellipsis: lambda m, node, frame: Const(...),
    cst.Tuple: _tuple,
    cst.List: _list,
    cst.Set: _list,
    cst.Dict: _dict,
    cst.BinaryOperation: _binary,
    cst.UnaryOperation: _unary,
    cst.Comparison: _comparison,
    cst.BooleanOperation: _boolean,
    cst.IfExp: _conditional,
    cst.Subscript: _subscript,
    cst.Call: _call,
    cst.Lambda: _lambda,
    cst.ListComp: _comprehension,
    cst.SetComp: _comprehension,
    cst.GeneratorExp: _comprehension,
    cst.DictComp: _comprehension,
    cst.NamedExpr: _walrus,
    cst.Await: _await,
    cst.Yield: _yield,
}

__all__ = [
    "AUGMENTED",
    "GradMode",
    "attribute",
    "both",
    "branch",
    "condition",
    "evaluate",
    "index_of",
    "quietly",
    "site_of",
    "subscript",
]
