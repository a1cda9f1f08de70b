"""Follows the lines that the linter complains about while a program runs."""

from __future__ import annotations

import ast
import os
import sys
import sysconfig
import threading
import time
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from ..checker import in_project
from ..finding import Finding
from ..program.disk import Disk
from ..program.roots import Roots
from ..rules import RULES
from .frames import short
from .outcome import number_of
from .readers import Reader, reader_of

_PACKAGE = Path(__file__).parent.parent
_LIBRARIES = {Path(sysconfig.get_paths()[kind]).resolve() for kind in ("stdlib", "platstdlib")}
PROGRESS = 10.0
"""Seconds between two lines of progress."""


def folders_of(file: str) -> set[Path]:
    """The folders of the project that a program belongs to: those in which the linter looks for what it imports.

    A folder around Python itself, such as `/`, is none.
    """
    roots = Roots(Disk(), os.getcwd())
    found = {Path(roots.top(file)), *(Path(root.folder) for root in roots.roots(file))}
    return {folder for folder in found if not any(library.is_relative_to(folder) for library in _LIBRARIES)}


def _is_installed(path: Path) -> bool:
    return {"site-packages", "dist-packages"} & {*path.parts} != set() or any(
        path.is_relative_to(library) for library in _LIBRARIES
    )


@dataclass(slots=True)
class Watched:
    """A finding, and what its lines have done so far."""

    file: str
    finding: Finding
    lines: range
    runs: Counter[int] = field(default_factory=Counter)
    passes_before: int = 0
    error: str = ""
    reader: Reader | None = None


class Project:
    """Follows the lines of the project's files that have findings; each file is linted when it is entered."""

    def __init__(self, folders: set[Path], say: Callable[[str], None]) -> None:
        self.folders = folders
        self.say = say
        self.passes = 0
        self.files: dict[str, list[Watched]] = {}
        self.linted = 0
        self.writing: dict[FrameType, list[Reader]] = {}

    def watched(self) -> Iterator[Watched]:
        for findings in self.files.values():
            yield from findings

    def enter(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        """The trace function of calls: is there something to watch in this one?"""
        name = frame.f_code.co_filename
        findings = self.files.get(name)
        if findings is None:
            findings = self.files[name] = self.lint(name)
        if not findings:
            return None
        last = max((line or 0 for _, _, line in frame.f_code.co_lines()), default=0)
        here = range(frame.f_code.co_firstlineno, last + 1)
        lines = {watched.finding.line for watched in findings}
        lines |= {watched.reader.line for watched in findings if watched.reader is not None}
        return self.step if any(line in here for line in lines) else None

    def step(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        """The trace function of lines."""
        self._compare(frame, event)
        if event in ("line", "exception"):
            for watched in self.files[frame.f_code.co_filename]:
                if frame.f_lineno not in watched.lines:
                    continue
                if event == "line":
                    if not watched.runs:
                        watched.passes_before = self.passes
                    watched.runs[frame.f_lineno] += 1
                elif issubclass(argument[0], RuntimeError):
                    watched.error = " ".join(str(argument[1]).split())
        return self.step

    def _compare(self, frame: FrameType, event: str) -> None:
        """Look at what the readers of this file go by, where a line has overwritten it, or is about to."""
        for reader in self.writing.pop(frame, ()):
            reader.after()
        if event != "line":
            return
        for watched in self.files[frame.f_code.co_filename]:
            if watched.reader is None:
                continue
            if frame.f_lineno == watched.reader.line:
                watched.reader.read(frame)
            if frame.f_lineno in watched.lines:
                watched.reader.before(frame)
                self.writing.setdefault(frame, []).append(watched.reader)

    def lint(self, name: str) -> list[Watched]:
        """The findings of a file, none where it is not one of the project's."""
        path = Path(name)
        inside = any(path.is_relative_to(folder) for folder in self.folders)
        if not inside or path.is_relative_to(_PACKAGE) or not path.is_file() or _is_installed(path):
            return []
        with tokenize.open(name) as file:
            source = file.read()
        findings = in_project(source, None, name).findings
        self.linted += 1
        if findings:
            self.say(f"{short(name)}: {number_of(len(findings), 'finding')}")
        tree = ast.parse(source)
        return [
            Watched(name, finding, _statement(tree, finding.line), reader=_reader(finding, name, tree))
            for finding in findings
        ]

    @contextmanager
    def following(self) -> Iterator[None]:
        """Count lines and backward passes in the block."""
        engine = torch.autograd._engine_run_backward
        last = time.monotonic()

        def run_backward(*args: Any, **kwargs: Any) -> Any:
            nonlocal last
            result = engine(*args, **kwargs)
            self.passes += 1
            if time.monotonic() - last > PROGRESS:
                last = time.monotonic()
                self.say(number_of(self.passes, "backward pass", "es"))
            return result

        torch.autograd._engine_run_backward = run_backward
        before = sys.gettrace(), threading.gettrace()
        threading.settrace(self.enter)
        sys.settrace(self.enter)
        try:
            yield
        finally:
            sys.settrace(before[0])
            threading.settrace(before[1])
            torch.autograd._engine_run_backward = engine


def _reader(finding: Finding, file: str, tree: ast.Module) -> Reader | None:
    return None if RULES[finding.code].at_run_time else reader_of(finding, file, tree)


def _statement(tree: ast.Module, line: int) -> range:
    """The lines of the innermost statement around a line, of a compound one its head."""
    spans = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = max(node.lineno, body[0].lineno - 1) if isinstance(body, list) and body else node.end_lineno
            spans.append(range(node.lineno, (end or node.lineno) + 1))
    return min((span for span in spans if line in span), key=len, default=range(line, line + 1))
