"""From what the checkers report to findings: which report speaks for a place, and in which words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from .finding import Finding, Place
from .hazards.saved import RENORM, UPDATES
from .hazards.style import FAMILY as STYLE
from .placing import stand
from .rule import Rule
from .rules import RULES

if TYPE_CHECKING:
    import libcst as cst

    from .program.site import Site
    from .trace.reports import Hazard, Refusal

_BY_KIND = {rule.kind: rule for rule in RULES.values()}

Where = tuple[str, Place]
"""A place in a file of the project."""


def _not_installed(path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Files:
    """The files of the project: what to call one by its path, and which belong to installed packages."""

    name_of: Callable[[str], str] = str
    is_installed: Callable[[str], bool] = _not_installed


def findings(
    hazards: Iterable[Hazard], refusals: Iterable[Refusal] = (), files: Files = Files()
) -> dict[str, list[Finding]]:
    """One finding for every overwriting place, by the file that it stands in; the nearest save speaks for it.

    What is only possible gives way to what is sure; a ban stands beside both.
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
    best: dict[Where, tuple[tuple[bool, int, str], Finding]] = {}
    for hazard in hazards:
        if continues(hazard.write.place, loud):
            continue
        told = report(hazard, files)
        if told is None:
            continue
        path, finding = told
        saved = finding.saved_at or finding.place
        distance = abs(finding.line - saved.line) * 1000 + abs(finding.column - saved.column)
        rank = (finding.code == _BY_KIND["callee"].code, distance, finding.message)
        where = (path, finding.place)
        if where not in best or rank < best[where][0]:
            best[where] = (rank, finding)
    for refusal in refusals:
        told = None if continues(refusal.write, written) else report_refusal(refusal, files)
        if told is None:
            continue
        where = (told[0], told[1].place)
        if not _BY_KIND[refusal.kind].silent or where not in best:
            best[where] = ((False, 0, ""), told[1])
    return {where: finding for where, (_, finding) in best.items()}


def report(hazard: Hazard, files: Files = Files()) -> tuple[str, Finding] | None:
    """The finding for a stale save, and the file that it stands in; None if that is none of the project."""
    write: Site = _step_around(hazard) or hazard.write.place
    origin: Site = hazard.saved.place
    calls = [*takewhile(lambda call: call is not write, hazard.write.calls)]
    site = stand(write, calls, (*hazard.saved.calls, origin), files.is_installed)
    if site is None:
        return None
    place = site.piece.tree.place(site.node)
    saved_at = origin.piece.tree.place(origin.node) if origin.piece.path == site.piece.path else None
    form, call = hazard.write.form, hazard.callee()
    rule = _BY_KIND["op_" if form == "renorm" else form]
    where = above(place, saved_at) if saved_at is not None else in_file(origin, files)
    slot = "its result" if hazard.saved.slot == "result" else f"`{hazard.saved.slot}`"
    slot += f", on {hazard.saved.device.upper()}" if hazard.saved.device else ""
    advice = RENORM if form == "renorm" else rule.advice
    if form == "augmented":
        target = getattr(write.expression, "target", write.expression)
        advice = advice.format(target=code(write, target), operator=code(write, write.node)[:-1])
    text = f"`{excerpt(write)}`"
    if site is not write:
        rule, text = _elsewhere(rule, site, write, files)
    elif call is not None and form not in (*UPDATES, "data", "numpy"):
        rule, text = _BY_KIND["callee"], f"{text}, reached by `{excerpt(call)}`,"
    if hazard.saved.slot.startswith("ctx."):
        rule = _BY_KIND["ctx"]
        message = f"{text} overwrites what {hazard.saved.op} keeps as `{hazard.saved.slot}` ({where}); {rule.advice}"
    elif hazard.saved.hooked:
        rule = _BY_KIND["hooked"]
        message = f"{text} overwrites a tensor that {hazard.saved.op} saved ({slot}, {where}) through hooks"
        message = f"{message}; {rule.advice}"
    elif hazard.saved.possible:
        rule, message = _BY_KIND["argument of"], f"{text} overwrites what a call ({where}) may have saved; {advice}"
    elif form == "possible":
        message = f"{text} may overwrite a tensor that {hazard.saved.op} saved ({slot}, {where}); {advice}"
    elif form in UPDATES:
        message = f"{text} updates a parameter that {hazard.saved.op} saved ({where}) for a later backward; {advice}"
    else:
        message = f"{text} overwrites a tensor that {hazard.saved.op} saved ({slot}, {where}); {advice}"
    return site.piece.path, Finding(rule.code, place, message, saved_at)


def _step_around(hazard: Hazard) -> Site | None:
    """The call of a ``step`` of the file, such as that of a class around optimizers, that made an optimizer step."""
    call = hazard.callee() if hazard.write.form == "step" else None
    if call is None:
        return None
    name = getattr(getattr(call.expression, "func", None), "attr", None)
    again = any(saving.expression is call.expression for saving in hazard.saved.calls)  # it trains, round after round
    return call if getattr(name, "value", "") == "step" and not again else None


def _elsewhere(rule: Rule, site: Site, write: Site, files: Files) -> tuple[Rule, str]:
    """The rule and the words for a write that another file makes, seen from a call of this one."""
    text = f"`{excerpt(write)}` ({in_file(write, files)}), reached from here,"
    return rule if rule.kind in (*UPDATES, "data", "numpy") else _BY_KIND["callee"], text


def in_file(site: Site, files: Files) -> str:
    """A place of another file, in words."""
    return f"{files.name_of(site.piece.path)}, line {site.piece.tree.place(site.node).line}"


def continues(site: Site, written: set[cst.CSTNode]) -> bool:
    """Whether a write is the next link of a chain whose link before is a finding already: ``x.mul_(2).add_(1)``."""
    function = getattr(site.expression, "func", None)
    return getattr(function, "value", None) in written


def report_refusal(refusal: Refusal, files: Files = Files()) -> tuple[str, Finding] | None:
    """The finding for a write that is wrong in itself, and the file that it stands in."""
    rule, write = _BY_KIND[refusal.kind], refusal.write
    site = stand(write, refusal.calls, refusal.beside, files.is_installed)
    if site is None:
        return None
    there = f" ({in_file(write, files)}), reached from here," if site is not write else ""
    found = Finding(rule.code, site.piece.tree.place(site.node), f"`{excerpt(write)}`{there} {rule.message}")
    return site.piece.path, found


def above(place: Place, saved: Place) -> str:
    """Where the save stands, seen from the write."""
    lines = place.line - saved.line
    if lines == 0:
        return "on this line"
    word = "line" if abs(lines) == 1 else "lines"
    return f"{lines} {word} above" if lines > 0 else f"{-lines} {word} below, but earlier in the run"


def excerpt(site: Site) -> str:
    """The overwriting expression in one short line."""
    text = code(site, site.expression)
    return text if len(text) <= 44 else text[:41] + "..."


def code(site: Site, node: cst.CSTNode) -> str:
    """The text of a node on one line."""
    return " ".join(site.piece.tree.text(node).split()).replace("`", "'")
