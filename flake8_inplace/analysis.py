"""What a program does to its tensors, read from its text."""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass

from . import readings
from .finding import Finding, Place
from .hazards import TRIGGERS
from .program import scan as scanning


@dataclass(frozen=True, slots=True)
class Result:
    """What the analysis of one file found.

    ``reveals`` are the states that calls of ``reveal(x)`` asked for, by line; ``problem`` says where and why a part of
    the file could not be read. ``readings`` say which functions were read, where the environment asks for that.
    """

    findings: tuple[Finding, ...] = ()
    reveals: tuple[tuple[int, str], ...] = ()
    problem: tuple[Place, str] | None = None
    readings: tuple[str, ...] = ()


def analyze(
    source: str,
    tree: ast.Module | None = None,
    frameworks: frozenset[str] = scanning.FRAMEWORKS,
    extra: frozenset[str] = frozenset(),
) -> Result:
    """Analyse the text of one file: one that imports a package of ``frameworks``.

    ``extra`` are the families that are off by default and wanted all the same: "possible", "style".
    Raises SyntaxError where ``tree`` is not given and the text is no Python.
    """
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    file = scanning.scan(source, tree if tree is not None else ast.parse(source), TRIGGERS, frameworks, bool(extra))
    asked = bool(os.environ.get(readings.VARIABLE))
    if file is None:
        return Result(readings=readings.nothing_read() if asked else ())
    from .interpreter.schedule import analyse
    from .verdicts import findings

    trace = analyse(file, extra)
    problem = None
    if trace.text.unreadable:
        piece, reason = min(trace.text.unreadable.items(), key=lambda item: item[0].line)
        problem = (Place(piece.line, 0), reason)
    reveals = tuple((site.piece.tree.place(site.node).line, text) for site, text in trace.reports.reveals)
    said = readings.explain(file, trace) if asked else ()
    result = Result(tuple(findings(trace.reports.hazards.values(), trace.reports.misuses)), reveals, problem, said)
    trace.text.close()
    return result
