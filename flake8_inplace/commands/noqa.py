"""``check --add-noqa``: a comment on each line that has a finding."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..files import NOTEBOOK, Project
from ..report import Entry
from .fix import Document

_NOQA = re.compile(r"(?P<comment># noqa)(?P<codes>:\s*[A-Z][A-Z0-9, ]*[0-9])?", re.IGNORECASE)


def add_noqa(files: Project, found: Iterable[Entry]) -> int:
    """Add the comments, and return how many lines changed. Notebooks are left as they are."""
    codes: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for entry in found:
        if not entry.path.endswith(NOTEBOOK):
            codes[entry.path][entry.at.line].add(entry.code)
    for path, lines in codes.items():
        document = Document.read(path)
        rows = re.split(r"(?<=\n)|(?<=\r)(?!\n)", document.text)
        for line, wanted in lines.items():
            last = files.last_line(path, line) - 1
            rows[last] = commented(rows[last], sorted(wanted))
        Path(path).write_bytes(document.encoded("".join(rows)))
    return sum(map(len, codes.values()))


def commented(line: str, codes: Sequence[str]) -> str:
    """Return a line with a ``noqa`` comment for these codes; one that is there gets them added."""
    text = line.rstrip("\r\n")
    end = line[len(text) :]
    known = _NOQA.search(text)
    if known is not None and known["codes"]:
        return f"{text[: known.end()]}, {', '.join(codes)}{text[known.end() :]}{end}"
    return f"{text.rstrip()}  # noqa: {', '.join(codes)}{end}"
