"""``flake8-inplace fix``: a diff of what to do about the findings, or the files changed."""

from __future__ import annotations

import argparse
import difflib
import io
import sys
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..cli import USAGE_ERROR
from ..files import NOTEBOOK, Project, Source, UsageError
from ..finding import Finding
from ..fix import Mended, mend
from ..report import grade
from .common import add_files, complain, project, reason, show

_COLOURS = {"+": "32", "-": "31", "@": "36"}


def main(arguments: Sequence[str]) -> int:
    """Show or write the fixes. 0: nothing is left to do, 1: something is, 2: something could not be read."""
    given = parsed().parse_args(arguments)
    try:
        files = project(given)
        paths = files.paths()
    except UsageError as error:
        complain(str(error))
        return USAGE_ERROR
    writes = given.fix or given.unsafe_fixes
    complete, offered, left = True, 0, 0
    for path in paths:
        if path.endswith(NOTEBOOK):
            continue
        try:
            mended = treat(files, path, writes, unsafe=given.unsafe_fixes or not writes)
        except Exception as error:  # whatever is wrong with one file must not keep the others from being mended
            complain(f"{path}: {type(error).__name__}: {reason(error)}")
            complete = False
            continue
        offered += len(mended.done)
        left += len(mended.left)
        for finding, fix in mended.done:
            note(f"{path}:{finding.line}: {finding.code} ({grade(fix)}) {fix.title}")
        for finding in mended.left:
            note(f"{path}:{finding.line}: {finding.code} left as it is: {finding.message}")
    verb = "made" if writes else "shown; --fix writes the safe ones, --unsafe-fixes all"
    note(f"{offered} fixes {verb}; {left} findings left")
    return USAGE_ERROR if not complete else int(bool(left if writes else left + offered))


def parsed() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "flake8-inplace fix", description="Show what to do about the findings as a diff, or do it."
    )
    parser.add_argument("--fix", action="store_true", help="write the safe fixes")
    parser.add_argument("--unsafe-fixes", action="store_true", help="write all fixes")
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


def treat(files: Project, path: str, writes: bool, unsafe: bool) -> Mended:
    """Mend one file, or show how. What configuration or ``noqa`` silences stays."""
    document = Document.read(path)
    name = files.options.stdin_display_name if path == "-" else path

    def wanted(text: str, findings: Sequence[Finding]) -> list[bool]:
        return files.counts(Source(name, text), findings)

    mended = mend(document.text, wanted, unsafe)
    if not writes:
        show(diff(name, document.text, mended.text, sys.stdout.isatty()))
    elif path == "-":
        sys.stdout.buffer.write(document.encoded(mended.text))
    elif mended.done:
        Path(path).write_bytes(document.encoded(mended.text))
    return mended


def diff(path: str, before: str, after: str, colour: bool) -> str:
    """A unified diff; lines are cut where Python cuts them, and shown without their own ends."""
    old, new = (io.StringIO(text, newline=None).read().split("\n") for text in (before, after))
    rows = difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="")
    if colour:
        rows = (f"\033[{_COLOURS[row[0]]}m{row}\033[0m" if row[:1] in _COLOURS else row for row in rows)
    return "".join(f"{row}\n" for row in rows)
