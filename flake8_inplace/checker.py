"""The flake8 plugin. Only this room knows flake8."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from . import __version__
from .analysis import analyze
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
        try:
            result = analyze("".join(self.lines), self.tree)
        except Exception as error:  # whatever goes wrong here must not end the lint of all other files
            reason = " ".join(str(error).split())[:120]
            yield 1, 0, unreadable(f"{type(error).__name__}: {reason}"), type(self)
            return
        if result.problem is not None:
            place, reason = result.problem
            yield place.line, place.column, unreadable(reason), type(self)
        for finding in result.findings:
            yield finding.line, finding.column, f"{finding.code} {finding.message}", type(self)


def unreadable(reason: str) -> str:
    return f"{UNREADABLE.code} {UNREADABLE.summary}: {reason}"
