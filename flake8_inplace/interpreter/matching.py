"""``match``."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from ..heap.values import Condition, Guard, Unknown, Value
from ..models import arithmetic
from ..program.nodes import parts
from ..program.site import Site
from ..trace.frames import Frame
from ..trace.trace import Trace
from .binding import bind
from .conditions import both, condition
from .dispatch import evaluate, runs, suite
from .flow import fork


@runs(cst.Match)
def _match(m: Trace, node: cst.Match, frame: Frame) -> bool:
    subject = m.see(evaluate(m, node.subject, frame))
    arms: list[tuple[Guard | None, Callable[[], bool]]] = []
    before: Guard = frozenset()
    for case in node.cases:
        test = _matches(m, subject, case, frame)
        if test is False:
            continue
        taken = Condition(before, frozenset()) if test is True else test
        arms.append((before | taken.true, _arm(m, case, frame)))
        if test is True:
            return fork(m, arms)
        before |= taken.false
    return fork(m, [*arms, (before, lambda: True)])


def _matches(m: Trace, subject: Value, case: cst.MatchCase, frame: Frame) -> bool | Condition:
    """Return the condition of a case. A guard that uses a name of the pattern is a new symbol."""
    test = _fits(m, subject, case.pattern, frame)
    if case.guard is None or test is False:
        return test
    bound = bool(_captures(case.pattern))
    guard = condition(m, Unknown(scalar=True) if bound else evaluate(m, case.guard, frame))
    if isinstance(test, bool) or isinstance(guard, bool):
        return guard if test is True else test if guard is True else False
    return both(m, "and", test, guard)


def _fits(m: Trace, subject: Value, pattern: cst.MatchPattern, frame: Frame) -> bool | Condition:
    """Return the condition of a pattern: exact for names and constants, a new symbol for other patterns."""
    if isinstance(pattern, cst.MatchAs) and pattern.pattern is None:
        return True
    if isinstance(pattern, cst.MatchSingleton) and pattern.value.value in ("True", "False"):
        test = condition(m, subject)
        if isinstance(test, bool):
            return test is (pattern.value.value == "True")
        return test if pattern.value.value == "True" else Condition(test.false, test.true)
    if isinstance(pattern, cst.MatchValue):
        site = Site(frame.piece, pattern, pattern)
        return condition(m, arithmetic.operator(m, "eq", subject, evaluate(m, pattern.value, frame), site))
    return condition(m, Unknown(scalar=True))


def _arm(m: Trace, case: cst.MatchCase, frame: Frame) -> Callable[[], bool]:
    def run() -> bool:
        for name in _captures(case.pattern):
            bind(m, name, Unknown(), frame)
        return suite(m, case.body, frame)

    return run


def _captures(node: cst.CSTNode) -> list[cst.Name]:
    found = [node.name] if isinstance(node, (cst.MatchAs, cst.MatchStar)) and node.name is not None else []
    for child in parts(node):
        if isinstance(
            child, (cst.MatchPattern, cst.MatchKeywordElement, cst.MatchMappingElement, cst.BaseElement)
        ) or type(child).__name__.startswith("Match"):
            found += _captures(child)
    return found
