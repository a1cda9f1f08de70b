"""``flake8-inplace fix``: a diff of what to do about the findings, or the files changed."""

from __future__ import annotations

import argparse
import difflib
import io
import sys
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from time import thread_time

from ..checker import findings, path_of, trial
from ..cli import INTERRUPTED, USAGE_ERROR
from ..files import NOTEBOOK, Project, Source, UsageError, joined
from ..finding import Finding, Fix
from ..fix import apply, mend
from ..report import entries, grade
from ..rules import RULES
from . import workers
from .baseline import read_baseline
from .common import (
    USAGE,
    add_files,
    add_jobs,
    begin,
    coloured,
    complain,
    count,
    flake8_arguments,
    project,
    reason,
    show,
    start,
)
from .configuration import configured
from .notebooks import Notebook, relabelled, spot

MORE = "; --unsafe-fixes may mend more"
SECONDS = 60
"""Processor time for one file after which no more fixes are tried."""
_COLOURS = {"+": "32", "-": "31", "@": "36"}


def main(arguments: Sequence[str]) -> int:
    """Show or write the fixes. 0: nothing is left to do, 1: something is, 2: not every file could be read."""
    try:
        given = parsed().parse_args([*configured(("jobs", "baseline")), *arguments])
        files, complete = begin(given)
        known = frozenset(read_baseline(given.baseline)) if given.baseline else frozenset[str]()
        paths = files.paths()
    except UsageError as error:
        complain(str(error))
        return USAGE_ERROR
    writes = given.fix or given.unsafe_fixes
    words = flake8_arguments(given)
    tasks = [Task(path, words, known, given.unsafe_fixes or not writes) for path in paths]
    offered = left = read = more = 0
    results = workers.each(treat, tasks, len(tasks), given.jobs, lost, start, (words,))
    try:
        for _, treated in workers.progress(results, len(tasks)):
            done = finish(treated, writes)
            complete = done and complete
            read += done
            offered += len(treated.done) if done else 0
            left += len(treated.left) + (0 if done else len(treated.done))
            more += sum(RULES[finding.code].fix == "unsafe" for finding in treated.left)
    except KeyboardInterrupt:
        note("flake8-inplace: stopped")
        return INTERRUPTED
    note(closing(offered, left, read, writes) + (MORE if more and not given.unsafe_fixes and writes else ""))
    return USAGE_ERROR if not complete else int(bool(left if writes else left + offered))


def closing(offered: int, left: int, files: int, writes: bool) -> str:
    """The last line: how many fixes there are, and how many findings have none."""
    if not offered and not left:
        return f"Nothing to fix in {count(files, 'file')}" if files else "No files"
    verb = "made" if writes else "shown; --fix writes the safe ones, --unsafe-fixes all" if offered else "shown"
    return f"{count(offered, 'fix')} {verb}; {count(left, 'finding')} left"


def parsed() -> argparse.ArgumentParser:
    about = "Show what to do about the findings as a diff, or do it."
    parser = argparse.ArgumentParser("flake8-inplace fix", USAGE, about)
    parser.add_argument("--fix", action="store_true", help="write the safe fixes")
    parser.add_argument("--unsafe-fixes", action="store_true", help="write all fixes")
    add_jobs(parser)
    add_files(parser)
    return parser


def note(message: str) -> None:
    print(message, file=sys.stderr)


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a file and how its bytes are made of it: newlines stay in the text."""

    text: str
    encoding: str

    @classmethod
    def read(cls, path: str) -> Document:
        """Raises OSError, SyntaxError (an encoding that Python does not know) or UnicodeDecodeError."""
        content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        lines = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        encoding, _ = tokenize.detect_encoding(io.BytesIO(lines).readline)
        return cls(content.decode(encoding), encoding)

    def encoded(self, text: str) -> bytes:
        """The bytes of a text, with the byte order mark that the file began with."""
        return text.encode(self.encoding)


@dataclass(frozen=True, slots=True)
class Task:
    """A file to mend. ``known`` are the fingerprints of findings to leave alone."""

    path: str
    arguments: tuple[str, ...]
    known: frozenset[str]
    unsafe: bool


@dataclass(frozen=True, slots=True)
class Treated:
    """What became of a file: its text before and after, what was fixed, and what is left, or the problem with it.

    Of a notebook, ``spots`` say in which cell and line the findings stand, those that were fixed first, and ``parts``
    are the cells that changed. ``late``: whether time was up before all fixes were tried.
    """

    path: str
    name: str = ""
    before: Document | None = None
    after: str = ""
    done: tuple[tuple[Finding, Fix], ...] = ()
    left: tuple[Finding, ...] = ()
    spots: tuple[str, ...] = ()
    parts: tuple[tuple[str, str, str], ...] = ()
    late: bool = False
    problem: str = ""

    @property
    def changes(self) -> tuple[tuple[str, str, str], ...]:
        """What to show as a diff: names, texts before and after."""
        before = self.before.text if self.before is not None else ""
        return self.parts if self.spots else ((self.name, before, self.after),)


def treat(task: Task) -> Treated:
    """Mend one file. What configuration, ``noqa`` or the baseline silences stays. Runs in a process of its own."""
    files = project(task.arguments)
    try:
        if task.path.endswith(NOTEBOOK):
            return notebook(files, task)
        document = Document.read(task.path)
        name = files.options.stdin_display_name if task.path == "-" else task.path

        def wanted(text: str, found: Sequence[Finding]) -> list[bool]:
            return counting(files, Source(name, text), found, task.known)

        end = thread_time() + SECONDS
        mended = mend(document.text, wanted, task.unsafe, end=end)
        path = "" if task.path == "-" else task.path
        rest = findings(mended.text, None, path)  # and what other files show
        left = tuple(compress(rest, wanted(mended.text, rest)))
        done, text, late = mended.done, mended.text, mended.late
        if not frozenset(left).issubset(mended.left) and path_of(path):
            with trial(path) as tried:
                mended = mend(text, wanted, task.unsafe, *tried, end=end)
            done, text, left, late = done + mended.done, mended.text, mended.left, late or mended.late
        return Treated(task.path, name, document, text, done, left, late=late)
    except Exception as error:  # whatever is wrong with one file must not keep the others from being mended
        return Treated(task.path, problem=reason(error))


def notebook(files: Project, task: Task) -> Treated:
    """Mend the code cells of a notebook as one program."""
    book = Notebook.read(task.path)
    text, labels, spots = book.program.text, book.labels, list[str]()

    def wanted(text: str, found: Sequence[Finding]) -> list[bool]:
        return counting(files, Source(task.path, text), found, task.known)

    mended = mend(text, wanted, task.unsafe, end=thread_time() + SECONDS)
    for finding, fix in mended.done:
        spots.append(spot(labels, finding.line))
        before, text = text, apply(text, fix.edits)
        labels = relabelled(before, labels, text)
    texts = book.texts(text, labels)
    after = joined(task.path, texts)
    shown = entries(task.path, after.text, mended.left, after.origins)
    left = tuple(replace(finding, words=(entry.message,)) for finding, entry in zip(mended.left, shown, strict=True))
    spots += [spot(labels, finding.line) for finding in left]
    cells = enumerate(zip(book.cells, texts, strict=True), 1)
    parts = tuple((f"{task.path} cell {number}", *pair) for number, pair in cells if pair[0] != pair[1])
    document = Document(book.text, "utf-8")
    after_all = book.written(texts)
    return Treated(task.path, task.path, document, after_all, mended.done, left, tuple(spots), parts, mended.late)


def counting(files: Project, source: Source, found: Sequence[Finding], known: frozenset[str]) -> list[bool]:
    """For each finding, whether nothing silences it."""
    counts = files.counts(source, found)
    if not known:
        return counts
    marks = (entry.fingerprint for entry in entries(source.path, source.text, found, source.origins))
    return [yes and mark not in known for yes, mark in zip(counts, marks, strict=True)]


def lost(task: Task) -> Treated:
    return Treated(task.path, problem="the process that read it died, perhaps for want of memory")


def finish(treated: Treated, writes: bool) -> bool:
    """Show or write what became of a file, and return whether it could be read and written."""
    path, document = treated.path, treated.before
    if treated.problem:
        complain(f"{path}: {treated.problem}")
        return False
    if document is not None:
        try:
            save(treated, document, writes)
        except BrokenPipeError:  # nobody reads the diff any more
            raise
        except OSError as error:
            complain(f"{path}: cannot be written: {reason(error)}")
            return False
    shown = treated.name or path
    spots = treated.spots or [str(finding.line) for finding in (*(each for each, _ in treated.done), *treated.left)]
    for at, (finding, fix) in zip(spots, treated.done, strict=False):
        note(f"{shown}:{at}: {finding.code} ({grade(fix)}) {fix.title}")
    for at, finding in zip(spots[len(treated.done) :], treated.left, strict=True):
        note(f"{shown}:{at}: {finding.code} left as it is: {finding.message}")
    if treated.late:
        complain(f"{shown}: not every fix was tried: they take too long")
    return True


def save(treated: Treated, document: Document, writes: bool) -> None:
    if not writes:
        for name, before, after in treated.changes:
            show(diff(name, before, after, coloured("auto")))
    elif treated.path == "-":
        sys.stdout.buffer.write(document.encoded(treated.after))
    elif treated.done:
        Path(treated.path).write_bytes(document.encoded(treated.after))


def diff(path: str, before: str, after: str, colour: bool) -> str:
    """A unified diff; lines are cut where Python cuts them, and shown without their own ends."""
    old, new = (io.StringIO(text, newline=None).read().split("\n") for text in (before, after))
    rows = difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="")
    if colour:
        rows = (f"\033[{_COLOURS[row[0]]}m{row}\033[0m" if row[:1] in _COLOURS else row for row in rows)
    return "".join(f"{row}\n" for row in rows)
