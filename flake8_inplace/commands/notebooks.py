"""Notebooks with some lines of their code cells changed, and the rest of the file as it was."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files import Source, cell_lines, read_notebook

Label = tuple[int, str | None]
"""Of a line of the program that the cells make: the number of its cell, and the line there, None if it is new."""


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook: the text of the file, what that says, and the code cells as one program."""

    text: str
    content: dict[str, Any]
    program: Source

    @classmethod
    def read(cls, path: str) -> Notebook:
        """Raises OSError, and ValueError where the file is no notebook of version 4."""
        data = Path(path).read_bytes()
        program = read_notebook(path, data)
        return cls(data.decode(), json.loads(data), program)

    @property
    def code(self) -> list[dict[str, Any]]:
        return [cell for cell in self.content["cells"] if cell["cell_type"] == "code"]

    @property
    def cells(self) -> list[str]:
        """The texts of the code cells."""
        return ["".join(cell["source"]) for cell in self.code]

    @property
    def labels(self) -> list[Label]:
        """A label for each line of the program."""
        return [(number, line) for number, text in enumerate(self.cells, 1) for line in cell_lines(text)]

    def texts(self, program: str, labels: Sequence[Label]) -> list[str]:
        """The texts of the code cells after the program was changed. A line that was not changed stands as it did."""
        found = [list[str]() for _ in self.cells]
        for line, (cell, before) in zip(cell_lines(program), labels, strict=True):
            found[cell - 1].append(line if before is None else before)
        return [_text(before, lines) for before, lines in zip(self.cells, found, strict=True)]

    def written(self, texts: Sequence[str]) -> str:
        """The file with these texts in its code cells, laid out as it is."""
        shape = self._shape()
        for cell, text in zip(self.code, texts, strict=True):
            if text != "".join(cell["source"]):
                cell["source"] = text if isinstance(cell["source"], str) else text.splitlines(keepends=True)
        laid_out, end = json.dumps(self.content, **shape), self.text[len(self.text.rstrip()) :]
        return (laid_out.replace("\n", "\r\n") if "\r\n" in self.text else laid_out) + end

    def _shape(self) -> dict[str, Any]:
        """How the file is laid out; where nobody can tell, as Jupyter does it."""
        indent = re.match(r"\{\r?\n([ \t]+)", self.text)
        usual: dict[str, Any] = {"ensure_ascii": False, "indent": indent[1] if indent else None}
        compact = {"separators": (",", ":")} if indent is None else {}
        shapes = [usual | {"ensure_ascii": escaped} | marks for marks in ({}, compact) for escaped in (False, True)]
        text = self.text.replace("\r\n", "\n").rstrip()
        same = (shape for shape in shapes if json.dumps(self.content, **shape) == text)
        return next(same, usual if indent else usual | {"indent": 1})


def _text(before: str, lines: list[str]) -> str:
    """A cell of these lines. One that was not changed stays as it is; the last line ends as it did."""
    if lines == cell_lines(before):
        return before
    text = "".join(lines)
    return text if before.endswith("\n") else text.removesuffix("\n")


def relabelled(before: str, labels: Sequence[Label], after: str) -> list[Label]:
    """The labels of the lines of a changed program. What is put before a line belongs to the cell of that line."""
    old, new = cell_lines(before), cell_lines(after)
    found: list[Label] = []
    for what, start, end, first, last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            found += labels[start:end]
        elif labels:
            cell = labels[min(start, len(labels) - 1)][0]
            found += [(cell, None)] * (last - first)
    return found


def spot(labels: Sequence[Label], line: int) -> str:
    """A line of the program as it is shown: ``cell_2:1``."""
    cell = labels[line - 1][0]
    return f"cell_{cell}:{sum(other == cell for other, _ in labels[:line])}"
