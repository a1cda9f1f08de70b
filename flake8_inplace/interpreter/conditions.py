"""The truth of a value, and expressions that depend on it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

import libcst as cst

from ..heap.join import choose
from ..heap.state import Exit
from ..heap.values import ALWAYS, Choice, Condition, Const, Dict, List, Object, Ref, Tensor, Tuple, Unknown, Value
from ..models.iteration import elements
from ..models.registry import Call, builtin
from ..program.site import Site
from ..trace import events
from ..trace.frames import Class, Frame, Function
from ..trace.needs import note_test
from ..trace.trace import Trace
from .dispatch import evaluate, evaluates


@evaluates(cst.BooleanOperation)
def _boolean(m: Trace, node: cst.BooleanOperation, frame: Frame) -> Value:
    left = m.see(evaluate(m, node.left, frame))
    test = condition(m, left)
    conjunction = isinstance(node.operator, cst.And)
    if isinstance(test, bool):
        events.decide(m)
        return evaluate(m, node.right, frame) if test is conjunction else left
    mark = m.state.mark()
    m.assume(test.true if conjunction else test.false)
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
        return either(m, test, other)
    return choose([(test.false if conjunction else test.true, left), (test.true if conjunction else test.false, right)])


def _plain(value: Value) -> bool:
    """Return whether a value can only matter by its truth."""
    if isinstance(value, Choice):
        return all(isinstance(option, (Const, Unknown, Condition)) for _, option in value.options)
    return isinstance(value, (Condition, Unknown))


def both(m: Trace, kind: str, left: Condition, right: Condition) -> Condition:
    """Return the conjunction of two conditions. If it is false, only that is known, under a symbol of its own."""
    if left.false == right.false:
        return Condition(left.true | right.true, left.false)
    failed = m.symbol(kind, left.false, right.false, scalar=True)
    m.note_failure(failed, left.true | right.true)
    return Condition(left.true | right.true | {(failed, False)}, frozenset({(failed, True)}))


def either(m: Trace, left: Condition, right: Condition) -> Condition:
    """Return the disjunction of two conditions. If it is true, only that is known, under a symbol of its own."""
    neither = both(m, "or", Condition(left.false, left.true), Condition(right.false, right.true))
    return Condition(neither.false, neither.true)


def _all(m: Trace, left: Condition, right: Condition) -> Condition:
    return both(m, "and", left, right)


_ELEMENTS = 8
"""The most elements that ``any`` and ``all`` look at."""


@builtin("any", "all")
def _of_elements(call: Call) -> Value | None:
    """Return whether one of several values is true, or whether all are: what ``or`` and ``and`` between them make."""
    m, every = call.m, call.name == "builtins.all"
    items, exact = elements(m, call.args[0]) if len(call.args) == 1 else ([], False)
    if len(items) > _ELEMENTS:
        return Unknown(scalar=True)
    tests = [condition(m, item) for item in items]
    if (not every) in tests:
        return Const(not every)
    unknown = [test for test in tests if isinstance(test, Condition)]
    if not exact:
        others = Unknown(scalar=True)
        unknown.append(Condition(frozenset({(others, True)}), frozenset({(others, False)})))
    return reduce(partial(_all if every else either, m), unknown) if unknown else Const(every)


def condition(m: Trace, value: Value) -> bool | Condition:
    """Return the truth of a value, or the condition that it depends on."""
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
    if isinstance(value, Dict) and m.state.get(value).open and m.state.get(value).items:
        return True
    if isinstance(value, Choice):
        if (known := _of_options(m, value)) is not None:
            return known
        if _plain(value):
            return _of_plain_choice(m, value)
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


def _of_options(m: Trace, value: Choice) -> bool | Condition | None:
    """Return the truth that the options of a choice agree on, or which of two is true; None if it isn't known."""
    truths = {condition(m, option) for guard, option in value.options if m.state.possible(guard)}
    if truths == {True} or truths == {False}:
        return truths.pop()
    if all(isinstance(truth, bool) for truth in truths) and len(value.options) == 2:
        (first, option), (second, _) = value.options
        return Condition(first, second) if condition(m, option) else Condition(second, first)
    return None


def _of_plain_choice(m: Trace, value: Choice) -> bool | Condition:
    """Return the condition that a choice of tests is true, or its truth where that is known.

    The same tests have the same result. So have their opposites:
    ``kind != other`` is false where ``kind == other`` is true, whichever ``kind`` is.
    """
    tests = [(guard, condition(m, option)) for guard, option in value.options]
    truths = tuple([(guard, test if isinstance(test, bool) else (test.true, test.false)) for guard, test in tests])
    others = tuple([(guard, not test if isinstance(test, bool) else (test.false, test.true)) for guard, test in tests])
    opposite = m.symbols.get(("true", others))
    symbol = opposite or m.symbol("true", truths, scalar=True)
    known = m.state.path.get(symbol)
    if known is not None:
        return known is (opposite is None)
    true, false = frozenset({(symbol, True)}), frozenset({(symbol, False)})
    return Condition(false, true) if opposite is not None else Condition(true, false)


def branch(m: Trace, value: Value, site: Site, arms: tuple[Callable[[], Value], Callable[[], Value]]) -> Value:
    """Evaluate one of two expressions, or join both if the test is not known."""
    test = condition(m, value)
    if isinstance(test, bool):
        events.decide(m)
        return arms[0 if test else 1]()
    note_test(m, site, (test.true, test.false))
    mark, exits = m.state.mark(), []
    for guard, arm in ((test.true, arms[0]), (test.false, arms[1])):
        m.assume(guard)
        result = arm()
        exits.append(Exit(guard, m.state.changes(mark), result))
        m.state.rollback(mark)
    m.state.merge(mark, exits)
    return choose([(way.guard, way.value) for way in exits])


@evaluates(cst.IfExp)
def _conditional(m: Trace, node: cst.IfExp, frame: Frame) -> Value:
    test = evaluate(m, node.test, frame)
    arms = (lambda: evaluate(m, node.body, frame), lambda: evaluate(m, node.orelse, frame))
    return branch(m, test, Site(frame.piece, node, node.test), arms)
