"""What a program does to its tensors, read from its text."""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass

from . import readings
from .finding import Finding, Place
from .hazards import TRIGGERS
from .program import scan as scanning
from .program.modules import Modules
from .program.reach import NOWAY, Ways


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
    path: str = "",
    others: Modules | None = None,
) -> Result:
    """Analyse the text of one file: one that imports a package of ``frameworks``.

    ``extra`` are the families that are off by default and wanted all the same: "possible", "style". ``path`` is the
    absolute path of the file; with it, its imports are followed to ``others``, the modules of its project.
    Raises SyntaxError where ``tree`` is not given and the text is no Python.
    """
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    follow = others if path else None

    def outside(tree: ast.Module) -> Ways:
        return follow.outside(tree, path) if follow is not None else NOWAY

    file = scanning.scan(
        source, tree if tree is not None else ast.parse(source), TRIGGERS, frameworks, bool(extra), path, outside
    )
    asked = bool(os.environ.get(readings.VARIABLE))
    if file is None:
        return Result(readings=readings.nothing_read() if asked else ())
    from .interpreter.schedule import analyse
    from .verdicts import File, findings

    trace = analyse(file, extra, follow)
    problem = None
    own = {piece: reason for piece, reason in trace.text.unreadable.items() if piece.path == path}
    if own:
        piece, reason = min(own.items(), key=lambda item: item[0].line)
        problem = (Place(piece.line, 0), reason)
    reveals = tuple((site.piece.tree.place(site.node).line, text) for site, text in trace.reports.reveals)
    named = File(path, follow.name_of) if follow is not None else File()
    said = readings.explain(file, trace) if asked else ()
    result = Result(
        tuple(findings(trace.reports.hazards.values(), trace.reports.misuses, named)), reveals, problem, said
    )
    trace.text.close()
    return result
