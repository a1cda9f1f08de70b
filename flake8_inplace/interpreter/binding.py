"""Binding: ``target = value`` for all kinds of targets."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from ..heap.values import ITEMS, NONE, Array, Choice, Object, Tensor, Unknown, Value
from ..models import arrays, calls, classes, containers, gradients, indexing, iteration, lazy, lineage, methods, tensors
from ..program.site import Site
from ..trace import events
from ..trace.callables import Method
from ..trace.frames import Class, Frame, Function
from ..trace.log import NAMED
from ..trace.trace import Trace
from .conditions import condition
from .names import quietly
from .subscripts import index_of


def bind(m: Trace, target: cst.BaseExpression, value: Value, frame: Frame) -> None:
    """Run ``target = value``."""
    if type(target) is cst.Name:
        scope = frame
        if target.value in frame.outer:
            while scope.parent is not None and (scope is frame or target.value not in scope.vars):
                scope = scope.parent
        events.bind(m, scope, target.value, value)
        if len(m.state[NAMED]) and m.state[NAMED].get((scope, target.value)):
            m.state.set(m.state[NAMED], (scope, target.value), frozenset())
        m.state.set(scope.vars, target.value, value)
        m.state.set(scope.times, target.value, m.tick())
        if type(value) is Tensor and value.place is None:
            value.place = Site(frame.piece, target, target)
    elif type(target) is cst.Tuple or type(target) is cst.List:
        stars = [i for i, e in enumerate(target.elements) if type(e) is cst.StarredElement]
        source = iteration.iterator(m, value, Site(frame.piece, target, target))
        lazy.read(m, source)
        values = iteration.unpack(m, source, len(target.elements), stars[0] if stars else None)
        named = [value for place, value in enumerate(values) if place not in stars]  # `*_, last = f()` keeps the last
        events.collect(m, source, named, len(named) - stars[0] if stars else -1)
        for element, item in zip(target.elements, values, strict=False):
            bind(m, element.value, item, frame)
    elif isinstance(target, cst.Attribute):
        owner = m.see(quietly(m, target.value, frame))
        m.assume_used(owner)
        set_attribute(m, owner, target.attr.value, value, Site(frame.piece, target.attr, target))
    elif isinstance(target, cst.Subscript):
        owner = quietly(m, target.value, frame)
        m.assume_used(owner)
        index = index_of(m, target, owner, frame)
        set_item(m, owner, index, value, Site(frame.piece, target.lbracket, target))
    elif isinstance(target, cst.StarredElement):
        bind(m, target.value, value, frame)


def set_attribute(m: Trace, owner: Value, name: str, value: Value, site: Site) -> None:
    if isinstance(owner, Object):
        classes.set_attribute(m, owner, name, value, site)
    elif isinstance(owner, Tensor) and name == "requires_grad":
        test = condition(m, value)
        tensors.require_grad(m, owner, test is not False, site)
    elif isinstance(owner, Tensor) and name == "data":
        events.replace_data(m, owner, m.see(value))
    elif isinstance(owner, Tensor) and name in ("real", "imag"):  # copies the value into that part
        part = methods.attribute(m, owner, name, site)
        calls.call_method(m, Method(part, "copy_", site.node), [value], {}, site)
    elif isinstance(owner, Tensor) and name == "grad":
        gradients.assign(m, owner, value)
    elif isinstance(owner, Tensor):  # what the program notes on it is lost with the tensor
        events.hand_over(m, (owner,))
    elif isinstance(owner, Class):
        m.state.set(owner.members, name, value)
    elif isinstance(owner, Unknown) and not owner.scalar:
        m.state.set(m.state.store, (owner, name), value)
    elif isinstance(owner, Choice):
        split(m, owner, lambda option: set_attribute(m, option, name, value, site))


def set_item(m: Trace, owner: Value, index: Value, value: Value, site: Site, form: str = "subscript") -> None:
    owner = m.see(owner)
    if isinstance(owner, Tensor):
        indexing.assign_subscript(m, owner, index, value, site, form)
    elif isinstance(owner, Array):
        arrays.assign(m, owner, index, value, site)
    elif isinstance(owner, Choice):
        split(m, owner, lambda option: set_item(m, option, index, value, site, form))
    elif isinstance(owner, Object):
        contents = m.state.get(owner).items
        found = lineage.member(owner.cls, "__setitem__")
        if isinstance(found, Function):
            m.run(found, [owner, index, value], {}, site)
        elif ITEMS in contents:
            set_item(m, contents[ITEMS], index, value, site, form)
    elif (array := arrays.proven(m, owner)) is not None:
        arrays.assign(m, array, index, value, site)
    elif isinstance(owner, Unknown):
        key = iteration.key_of(m.see(index))
        if key is not None:
            m.state.set(m.state.store, (owner, "[]", key), value)
        else:
            events.hand_over(m, (value,))
    else:
        containers.set_item(m, owner, index, value)


def split(m: Trace, value: Value, then: Callable[[Value], None]) -> None:
    """Call ``then`` with each option of a value, under its guard."""

    def act(options: list[Value]) -> Value:
        then(options[0])
        return NONE

    m.split([value], act)
