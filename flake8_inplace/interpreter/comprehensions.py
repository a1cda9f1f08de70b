"""Comprehensions, lambdas, ``yield`` and ``await``."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import libcst as cst

from ..heap.state import variables
from ..heap.values import NONE, Array, Attributes, Const, Dict, Items, List, Object, Tensor, Tuple, Unknown, Value
from ..models import handed, iteration, lazy
from ..models.arithmetic import one_of_many
from ..trace import events
from ..trace.frames import Frame, Function
from ..trace.reports import Refusal
from ..trace.trace import Trace
from . import naming
from .conditions import condition
from .dispatch import evaluate, evaluates


@evaluates(cst.Lambda)
def _lambda(m: Trace, node: cst.Lambda, frame: Frame) -> Value:
    defaults = {p.name.value: evaluate(m, p.default, frame) for p in node.params.params if p.default is not None}
    m.text.scopes.append(frame)
    return Function("lambda", node, frame.piece, frame, defaults=defaults)


_HOLDING = (Tensor, Array, List, Tuple, Dict, Object)
"""Types of elements that are, or hold, tensors."""
_Comprehension = cst.ListComp | cst.SetComp | cst.GeneratorExp | cst.DictComp


@dataclass(slots=True)
class _Made:
    """The elements that a comprehension has made so far, and the values that it iterates over."""

    rows: list[Value] = field(default_factory=list)
    result: List = field(default_factory=List)  # a list comprehension holds each element once that is made
    pairs: dict[Hashable, Value] = field(default_factory=dict)
    table: Dict = field(default_factory=Dict)  # and so does that of a dictionary
    sources: list[Value] = field(default_factory=list)
    kept: bool = True  # whether more of the elements than the last one can be read


@evaluates(cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp)
def _comprehension(m: Trace, node: _Comprehension, frame: Frame) -> Value:
    """Run a comprehension in a frame of its own."""
    inner, made = Frame(variables(), frame.piece, frame, loops=frame.loops), _Made()
    if isinstance(node, cst.GeneratorExp):
        made.sources.append(iteration.iterator(m, evaluate(m, node.for_in.iter, frame)))
        made.result = lazy.lazily(
            m, lambda: (made.rows, _rounds(m, node, node.for_in, frame, inner, made)), made.sources, m.clock
        )
        return made.result
    exact = _rounds(m, node, node.for_in, frame, inner, made)
    for source in made.sources:
        events.collect(m, source, [*made.rows, *made.pairs.values()], -1)
    if isinstance(node, cst.DictComp):
        values = _as_one(m, [*made.pairs.values()], frame)
        made.table.initial = Attributes(dict(zip(made.pairs, values, strict=True)), not exact)
        m.state.put(made.table, made.table.initial)
        made.table.time = m.clock
        return made.table
    made.rows = _as_one(m, made.rows, frame)
    if not isinstance(node, cst.ListComp):
        return List(made.rows, not exact, m.clock)
    m.state.put(made.result, Items(tuple(made.rows), not exact))
    made.result.time = m.clock
    return made.result


def last_of(m: Trace, node: cst.ListComp, frame: Frame) -> List:
    """Return a list with the last element of a comprehension, of which only that is read: ``[f(x) for x in y][-1]``."""
    inner, made = Frame(variables(), frame.piece, frame, loops=frame.loops), _Made(kept=False)
    exact = _rounds(m, node, node.for_in, frame, inner, made)
    for source in made.sources:
        events.collect(m, source, made.rows[-1:], 1)
    return List(made.rows[-1:], not exact, m.clock)


def _rounds(m: Trace, node: _Comprehension, part: cst.CompFor, frame: Frame, inner: Frame, made: _Made) -> bool:
    """Run one ``for`` of a comprehension, and those inside it. Return whether all elements are known."""
    if part is node.for_in and made.sources:
        source, found = made.sources[0], list[Refusal]()
    else:
        source, found = naming.waiting(m, lambda: iteration.iterator(m, evaluate(m, part.iter, frame)))
        made.sources.append(source)
    complete: list[bool] = []

    def once(item: Value, _: bool = False) -> None:
        complete.append(_round(m, node, part, item, inner, made, found))

    body = lazy.suspended(m, source)
    exact = False
    if body is not None:  # it goes on after each element has been used
        lazy.drive(m, source, body, once)
    else:
        (items, exact), more = naming.waiting(m, lambda: iteration.elements(m, source))
        found += more
        for item in items:
            once(item)
    if not complete:
        naming.tell(m, found)
    return exact and all(complete)


def _round(
    m: Trace,
    node: _Comprehension,
    part: cst.CompFor,
    item: Value,
    inner: Frame,
    made: _Made,
    found: list[Refusal],
) -> bool:
    """Run one round of a ``for`` of a comprehension. Return whether all elements that it makes are known."""
    m.bind(part.target, item, inner)
    naming.bound(m, [part.target], found, inner)
    if any(condition(m, evaluate(m, test.test, inner)) is False for test in part.ifs):
        return True
    exact = not part.ifs
    if part.inner_for_in is not None:
        return _rounds(m, node, part.inner_for_in, inner, inner, made) and exact
    if isinstance(node, cst.DictComp):
        key = m.see(evaluate(m, node.key, inner))
        _put(m, made, iteration.key_of(key) if isinstance(key, Const) else key, evaluate(m, node.value, inner))
    else:
        _append(m, made, evaluate(m, node.elt, inner), node)
    return exact


def _as_one(m: Trace, rows: list[Value], frame: Frame) -> list[Value]:
    """Return the elements of a comprehension, of which a variable may be one of many: ``[zero for _ in range(3)]``."""
    values = [m.see(row) for row in rows]
    many = [value for value in values if isinstance(value, (Tensor, Array)) and values.count(value) > 1]
    outer = [m.see(value) for value in frame.vars.values()] if many else []
    pairs = zip(rows, values, strict=True)
    place = m.here()
    return [one_of_many(m, value, place) if value in many and value in outer else row for row, value in pairs]


def _append(m: Trace, made: _Made, value: Value, node: _Comprehension) -> None:
    """Add an element. A generator expression makes it when it is asked for, after the one before has been used."""
    holds = made.kept and isinstance(m.see(value), _HOLDING)
    if holds and isinstance(node, cst.ListComp):
        events.append(m, made.result, value)
    made.rows.append(value)
    if holds and isinstance(node, cst.GeneratorExp) and m.stack.frames:
        events.yields(m, m.stack.frames[-1], made.result, [value])
    if holds and isinstance(node, cst.ListComp):
        m.state.put(made.result, Items(tuple(made.rows), True))


def _put(m: Trace, made: _Made, key: Hashable, value: Value) -> None:
    """Add an entry, as ``table[key] = value`` does. What makes the next one may overwrite it."""
    holds = isinstance(m.see(value), _HOLDING)
    if holds:
        events.store_key(m, made.table, key, value)
        events.store(m, made.table, value)
    made.pairs[key] = value
    if holds:
        m.state.put(made.table, Attributes(dict(made.pairs), True))


@evaluates(cst.NamedExpr)
def _walrus(m: Trace, node: cst.NamedExpr, frame: Frame) -> Value:
    value = evaluate(m, node.value, frame)
    m.bind(node.target, value, frame)
    return value


@evaluates(cst.Await)
def _await(m: Trace, node: cst.Await, frame: Frame) -> Value:
    value = evaluate(m, node.expression, frame)
    if isinstance(m.see(value), Unknown):
        handed.waits(m)
    return value


@evaluates(cst.Yield)
def _yield(m: Trace, node: cst.Yield, frame: Frame) -> Value:
    function = frame.function
    if function is None or function.resume is None:
        return Unknown()
    if not isinstance(node.value, cst.From):
        function.resume(evaluate(m, node.value, frame) if node.value is not None else NONE)
        return Unknown()
    source = iteration.iterator(m, evaluate(m, node.value.item, frame))
    body = lazy.suspended(m, source)
    if body is not None:
        body(function.resume, function.once)
    else:
        for item in iteration.elements(m, source)[0]:
            function.resume(item)
    return Unknown()
