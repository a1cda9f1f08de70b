"""The flake8 plugin, and the guard that every run of the analysis stands behind."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from . import __version__
from .analysis import analyze
from .finding import Finding, Place
from .rules import UNREADABLE


class Checker:
    """What flake8 builds once for each file."""

    name = "flake8-inplace"
    version = __version__

    def __init__(self, tree: ast.Module, lines: list[str], filename: str = "") -> None:
        self.tree = tree
        self.lines = lines
        self.filename = filename

    def run(self) -> Iterator[tuple[int, int, str, type[Any]]]:
        """Yield line, column from 0, text and type of every finding."""
        for finding in findings("".join(self.lines), self.tree):
            yield finding.line, finding.column, f"{finding.code} {finding.message}", type(self)


def findings(text: str, tree: ast.Module | None = None) -> list[Finding]:
    """What is found in the text of one file. What could not be read is a finding too: nothing is raised."""
    try:
        result = analyze(text, tree)
    except SyntaxError as error:  # flake8 never hands such a file over; the command line does
        return [unreadable(Place(error.lineno or 1, max((error.offset or 1) - 1, 0)), f"SyntaxError: {error.msg}")]
    except Exception as error:  # whatever goes wrong here must not end the lint of all other files
        reason = " ".join(str(error).split())[:120]
        return [unreadable(Place(1, 0), f"{type(error).__name__}: {reason}")]
    problems = [unreadable(*result.problem)] if result.problem is not None else []
    return [*problems, *result.findings]


def unreadable(place: Place, reason: str) -> Finding:
    return Finding(UNREADABLE.code, place, f"{UNREADABLE.summary}: {reason}")
