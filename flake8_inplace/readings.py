"""Which functions of a file were read, and why the others were not: what `FLAKE8_INPLACE_EXPLAIN=1` shows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .program.pieces import Definition, Piece, Scan

if TYPE_CHECKING:
    from .trace.trace import Trace

VARIABLE = "FLAKE8_INPLACE_EXPLAIN"
"""The environment variable that asks for it."""


def nothing_read() -> tuple[str, ...]:
    """What is said of a file that the prefilter leaves out as a whole, where the environment asks for it."""
    if not os.environ.get(VARIABLE):
        return ()
    return ("not read: it imports no tensor package, or nothing in it can come to overwrite a tensor",)


def explain(file: Scan, trace: Trace) -> tuple[str, ...]:
    """One line for each function of a file, in the order of the text."""
    entries = {_line(file, node) for node in trace.work.entries}
    ran = {_line(file, node) for node in trace.work.ran}
    rows = []
    for definition, body in _functions(file):
        if definition.lineno in entries:
            verdict = "read, as code outside the file may call it"
        elif definition.lineno in ran:
            verdict = "read where the file calls it"
        elif not body.worth:
            verdict = "not worth reading: no name in it leads to an in-place write"
        else:
            verdict = "worth reading, and not reached"
        rows.append((definition.lineno, f"line {definition.lineno}: {definition.name}: {verdict}"))
    unreadable = [(piece, why) for piece, why in trace.text.unreadable.items() if piece.path == file.path]
    problems = [(piece.line, f"line {piece.line}: {why}") for piece, why in unreadable]
    return tuple(text for _, text in sorted([*rows, *problems]))


def _functions(file: Scan) -> Iterator[tuple[Definition, Piece]]:
    for piece in file.pieces:
        yield from piece.functions.items()


def _line(file: Scan, node: object) -> int:
    """The line of a function that was read, or 0."""
    for piece in file.pieces:
        for part in (piece, *piece.functions.values()):
            origin = part.origin(node)
            if origin is not None:
                return origin
    return 0
