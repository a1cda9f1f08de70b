"""From what the checkers report to findings: which report speaks for a place, and in which words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, TypeVar

from .finding import Finding, Place
from .hazards.saved import UPDATES
from .hazards.style import FAMILY as STYLE
from .placing import stand
from .rule import Rule
from .rules import RULES
from .sentences import ALONE, Files, of_hazard, of_refusal

if TYPE_CHECKING:
    import libcst as cst

    from .program.site import Site
    from .trace.reports import Hazard, Refusal

_BY_KIND: dict[str, Rule] = {each.kind: each for rule in RULES.values() for each in (rule, *rule.also)}

Where = tuple[str, Place]
"""A place in a file of the project."""


def findings(
    hazards: Iterable[Hazard], refusals: Iterable[Refusal] = (), files: Files = ALONE
) -> dict[str, list[Finding]]:
    """One finding for every overwriting place, by the file that it stands in.

    Of several saves, one for which backward raises speaks for it, and of those the nearest. What is only possible
    gives way to what is sure; a ban stands beside both.
    """
    sure: list[Hazard] = []
    possible: list[Hazard] = []
    plain: list[Refusal] = []
    style: list[Refusal] = []
    for hazard in hazards:
        (possible if hazard.saved.possible or hazard.write.form == "possible" else sure).append(hazard)
    for refusal in refusals:
        (style if _BY_KIND[refusal.kind].family == STYLE else plain).append(refusal)
    found = _one_each(sure, plain, files)
    for where, finding in _one_each(possible, [], files).items():
        found.setdefault(where, finding)
    by_file: dict[str, list[Finding]] = {}
    for (path, _), finding in [*found.items(), *_one_each([], style, files).items()]:
        by_file.setdefault(path, []).append(finding)
    return by_file


def _one_each(hazards: list[Hazard], refusals: list[Refusal], files: Files) -> dict[Where, Finding]:
    loud = {hazard.write.place.expression for hazard in hazards}
    loud |= {refusal.write.expression for refusal in refusals if not _BY_KIND[refusal.kind].silent}
    written = loud | {refusal.write.expression for refusal in refusals}
    best: dict[Where, tuple[tuple[bool, bool, int, str], Finding]] = {}
    ways: dict[Where, set[tuple[str, ...]]] = {}
    for hazard in _told_once(hazards, _hazard_stands, files):
        if continues(hazard.write.place, loud):
            continue
        told = report(hazard, files)
        if told is None:
            continue
        path, finding = told
        saved = finding.saved_at or finding.place
        distance = abs(finding.line - saved.line) * 1000 + abs(finding.column - saved.column)
        rank = (_goes_unnoticed(hazard), finding.code == _BY_KIND["callee"].code, distance, finding.message)
        where = (path, finding.place)
        ways.setdefault(where, set()).add(finding.conditions)
        if where not in best or rank < best[where][0]:
            best[where] = (rank, finding)
    for refusal in _told_once(refusals, _refusal_stands, files):
        told = None if continues(refusal.write, written) else report_refusal(refusal, files)
        if told is None:
            continue
        where = (told[0], told[1].place)
        ways.setdefault(where, set()).add(told[1].conditions)
        if not _BY_KIND[refusal.kind].silent or where not in best:
            best[where] = ((False, False, 0, ""), told[1])
    return {where: _with_least(finding, ways[where]) for where, (_, finding) in best.items()}


def _goes_unnoticed(hazard: Hazard) -> bool:
    """Whether a backward computes with the overwritten values, and doesn't raise."""
    saved = hazard.saved
    return hazard.write.form in ("data", "numpy", "fused") or bool(saved.hooked) or saved.slot.startswith("ctx.")


def _with_least(finding: Finding, ways: set[tuple[str, ...]]) -> Finding:
    """A finding with the least that one of the ways to it needs: nothing, if they are both arms of one test."""
    every = {*ways, *_either_way(ways)}
    return replace(finding, conditions=min(every, key=lambda way: (len(way), way != finding.conditions, way)))


def _either_way(ways: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """What is left of two ways that take the two arms of one test, and need the same besides."""
    known, todo = {*map(frozenset, ways)}, [*ways]
    while todo:
        way = todo.pop()
        for arm in (condition for condition in way if condition.startswith("where ")):
            rest = tuple(condition for condition in way if condition != arm)
            other = frozenset((*rest, f"unless {arm.removeprefix('where ')}"))
            if other in known and frozenset(rest) not in known:
                known.add(frozenset(rest))
                todo.append(rest)
                yield rest


_Report = TypeVar("_Report", "Hazard", "Refusal")


def _told_once(
    reports: Iterable[_Report], stands: Callable[[_Report, Files], tuple[list[Site], Site | None]], files: Files
) -> Iterator[_Report]:
    """The reports without those at a call on whose way to the write there is another report for the same cause.

    What a function saves in one call and overwrites in the next, it mostly overwrites in the first call too.
    """
    placed = [(each, stands(each, files)) for each in reports]
    told = {(each.cause, site.expression) for each, (_, site) in placed if site is not None}
    for each, (way, site) in placed:
        deeper = way[way.index(site) + 1 :] if site is not None else []
        if not any((each.cause, inner.expression) in told for inner in deeper):
            yield each


def _hazard_stands(hazard: Hazard, files: Files) -> tuple[list[Site], Site | None]:
    """The way to a write, and where on it that is reported; None if no line of the project is on it."""
    write: Site = _step_around(hazard) or hazard.write.place
    calls = [*takewhile(lambda call: call is not write, hazard.write.calls)]
    return [*calls, write], stand(write, calls, (*hazard.saved.calls, hazard.saved.place), files.is_installed)


def _refusal_stands(refusal: Refusal, files: Files) -> tuple[list[Site], Site | None]:
    way = [*refusal.calls, refusal.write]
    return way, stand(refusal.write, refusal.calls, refusal.beside, files.is_installed)


def report(hazard: Hazard, files: Files = ALONE) -> tuple[str, Finding] | None:
    """The finding for a stale save, and the file that it stands in; None if that is none of the project."""
    (*_, write), site = _hazard_stands(hazard, files)
    if site is None:
        return None
    form = _BY_KIND["op_" if hazard.write.form == "renorm" else hazard.write.form]
    return site.piece.path, of_hazard(hazard, _rule(hazard, form, write, site), form, write, site, files)


def _rule(hazard: Hazard, form: Rule, write: Site, site: Site) -> Rule:
    """The rule that a stale save breaks, of which the form of the write is one sign."""
    kind = form.kind
    if form.message:
        return form
    if hazard.saved.slot.startswith("ctx."):
        kind = "ctx"
    elif hazard.saved.hooked:
        kind = "hooked"
    elif hazard.saved.possible:
        kind = "argument of"
    elif kind not in (*UPDATES, "data", "numpy") and (site is not write or hazard.callee() is not None):
        kind = "callee"
    return _BY_KIND[kind]


def _step_around(hazard: Hazard) -> Site | None:
    """The call of a ``step`` of the file, such as that of a class around optimizers, that made an optimizer step."""
    call = hazard.callee() if hazard.write.form == "step" else None
    if call is None:
        return None
    name = getattr(getattr(call.expression, "func", None), "attr", None)
    again = any(saving.expression is call.expression for saving in hazard.saved.calls)  # it trains, round after round
    return call if getattr(name, "value", "") == "step" and not again else None


def continues(site: Site, written: set[cst.CSTNode]) -> bool:
    """Whether a write is the next link of a chain whose link before is a finding already: ``x.mul_(2).add_(1)``."""
    function = getattr(site.expression, "func", None)
    return getattr(function, "value", None) in written


def report_refusal(refusal: Refusal, files: Files = ALONE) -> tuple[str, Finding] | None:
    """The finding for a write that is wrong in itself, and the file that it stands in."""
    _, site = _refusal_stands(refusal, files)
    return None if site is None else (site.piece.path, of_refusal(refusal, _BY_KIND[refusal.kind], site, files))
