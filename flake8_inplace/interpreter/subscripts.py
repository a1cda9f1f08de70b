"""Subscripts."""

from __future__ import annotations

import libcst as cst

from ..heap.regions import items_of
from ..heap.values import ITEMS, NONE, Array, Choice, Const, Object, Ref, Slice, Tensor, Tuple, Unknown, Value, constant
from ..models import arrays, containers, indexing, lineage, numpy, records
from ..program.site import Site
from ..trace import events
from ..trace.frames import Class, Frame, Function
from ..trace.log import WRITES
from ..trace.trace import Trace
from .comprehensions import last_of
from .dispatch import evaluate, evaluates
from .names import lookup, quietly, read_variable


def index_of(m: Trace, node: cst.Subscript, owner: Value, frame: Frame) -> Value:
    """Return the value between the brackets. The contents of a tensor that is the key of a dictionary are not read."""
    read = evaluate if not m.state[WRITES] or isinstance(m.see(owner), (Tensor, Array, Choice)) else quietly
    items: list[Value] = []
    for element in node.slice:
        if isinstance(element.slice, cst.Index):
            items.append(m.see(read(m, element.slice.value, frame)))
        elif isinstance(element.slice, cst.Slice):
            bounds = (element.slice.lower, element.slice.upper, element.slice.step)
            items.append(Slice(*(m.see(evaluate(m, bound, frame)) if bound is not None else NONE for bound in bounds)))
    trailing = type(node.slice[-1].comma) is cst.Comma
    return items[0] if len(items) == 1 and not trailing else Tuple(tuple(items))


@evaluates(cst.Subscript)
def _subscript(m: Trace, node: cst.Subscript, frame: Frame) -> Value:
    if _is_globals(node.value) and isinstance(name := constant(index_of(m, node, NONE, frame)), str):
        return m.see(lookup(m, name, frame.module()) or Unknown())
    if type(node.value) is cst.ListComp and constant(index := index_of(m, node, NONE, frame)) == -1:
        return subscript(m, last_of(m, node.value, frame), index, Site(frame.piece, node.lbracket, node))
    part = bool(m.state[WRITES]) and type(node.value) is cst.Name
    value = (quietly if part else evaluate)(m, node.value, frame)
    m.assume_used(value)
    index = index_of(m, node, value, frame)
    if part and isinstance(node.value, cst.Name) and not m.unread:
        read = _with_keys(m, value) if isinstance(constant(index), str) else value
        read_variable(m, node.value.value, read, frame, items_of(index))
        scope = frame.scope_of(node.value.value) if type(value) is Tuple else None
        if scope is not None:
            events.read_item(m, node.value.value, m.see(containers.get_item(m, value, index)), scope)
    return subscript(m, value, index, Site(frame.piece, node.lbracket, node))


def _with_keys(m: Trace, value: Value) -> Value:
    """Return a value without the options that are tensors. A tensor has no keys, so what is asked for one is none."""
    value = m.see(value)
    if isinstance(value, Choice):
        return Choice(tuple((guard, _with_keys(m, option)) for guard, option in value.options))
    return NONE if isinstance(value, (Tensor, Unknown)) else value


def _is_globals(node: cst.BaseExpression) -> bool:
    """Whether it is ``globals()``."""
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "globals"


def subscript(m: Trace, value: Value, index: Value, site: Site) -> Value:
    value = records.as_tuple(m, m.see(value))
    if isinstance(value, Choice):
        return m.split([value], lambda options: subscript(m, options[0], index, site))
    if isinstance(value, Unknown) and value.likely and _slices(index):
        value = m.promote(value)
    if isinstance(value, Tensor):
        return indexing.subscript(m, value, index, site)
    if isinstance(value, Object):
        contents = m.state.get(value).items
        if ITEMS in contents:
            part = subscript(m, contents[ITEMS], index, site)
            of_modules = isinstance(value.cls, Ref) and lineage.is_module(value.cls)
            return Object(value.cls, {ITEMS: part}) if of_modules and isinstance(m.see(index), Slice) else part
        found = lineage.member(value.cls, "__getitem__")
        return m.run(found, [value, index], {}, site) if isinstance(found, Function) else Unknown()
    if value == Ref("sys.modules") and isinstance(name := constant(m.see(index)), str):
        module = m.text.module(site.piece.path)
        is_own = module is not None and module.frame.vars.get("__name__") == Const(name)
        return m.find_module(name, site.piece.path) if is_own else Unknown()
    if isinstance(value, Class) and value.metaclass is not None:
        found = lineage.member(value.metaclass, "__getitem__")
        return m.run(found, [value, index], {}, site) if isinstance(found, Function) else value
    if isinstance(value, (Ref, Class)):
        return value
    if isinstance(value, Array):
        return arrays.subscript(m, value, index, site)
    if isinstance(value, Unknown) and value in m.tensors and value.scalar:
        return numpy.index_array(m, value, index, site)
    return containers.get_item(m, value, index)


def _slices(index: Value) -> bool:
    items = index.items if isinstance(index, Tuple) else ()
    return any(isinstance(item, (Slice, Tensor)) or item in (Const(...), NONE) for item in items)
