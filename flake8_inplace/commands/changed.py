"""The lines that a diff changes, for ``check --diff``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from ..files import UsageError
from ..report import Entry, relative_path
from .common import reason

Changed = dict[str, set[int]]
"""The new or changed lines of each file, by its path."""
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def read_diff(path: str) -> Changed:
    """Read a unified diff; "-" is standard input. Raises UsageError."""
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"{path}: {reason(error)}") from error
    changed = parse(text)
    if text.strip() and not changed and "\n+++ " not in f"\n{text}":
        raise UsageError(f"{path}: not a unified diff; `git diff` writes one")
    return changed


def parse(text: str) -> Changed:
    """Return the lines that a unified diff adds or changes."""
    found: Changed = {}
    lines: set[int] | None = None
    number = old = new = 0
    for row in text.splitlines():
        if (old > 0 or new > 0) and row[:1] in ("+", "-", " ", ""):
            if row[:1] == "+" and lines is not None:
                lines.add(number)
            number += row[:1] != "-"
            new -= row[:1] != "-"
            old -= row[:1] != "+"
        elif row.startswith("+++ "):
            name = row[4:].split("\t")[0].strip().strip('"')
            lines = None if name == "/dev/null" else found.setdefault(relative_path(_without_prefix(name)), set())
        elif hunk := _HUNK.match(row):
            old, number, new = int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1)
    return found


def _without_prefix(name: str) -> str:
    """Return a path without the ``b/`` that git puts before it."""
    prefix, _, rest = name.partition("/")
    return rest if prefix in ("b", "i", "w", "o") and rest and not Path(name).exists() else name


def concerns(entry: Entry, changed: Changed) -> bool:
    """Return whether a finding, or another place that takes part in it, is on a changed line."""
    places = [(entry.path, entry.at.line), *((spot.path or entry.path, spot.line) for spot in entry.related)]
    return any(line in changed.get(path.removeprefix("./"), ()) for path, line in places)
