"""Pages of programs with their right twins, as tests/silent and tests/raising hold them.

Lines that end in `#-` stand in the wrong version only, lines that end in `#+` in the right one only. What follows a
mark of the page at the start of a line says how the two differ; a program without such a line is right.
"""

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

PROGRAM = re.compile(r"^## ([^\n]+)\n\n(?:Known limit: ([^\n]+)\n\n)?```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Program:
    """A program of a page: why it is a known limit, its lines, and how the two versions differ, if there are two."""

    page: str
    name: str
    limit: str
    lines: tuple[str, ...]
    difference: str

    @property
    def heading(self) -> str:
        return f"{self.page}: {self.name}"

    def text(self, mark: str) -> str:
        """The version with the lines that end in a mark, without those that end in the other."""
        other = "#-" if mark == "#+" else "#+"
        return "\n".join(line.removesuffix(mark).rstrip() for line in self.lines if not line.endswith(other)) + "\n"


def programs(folder: Path, mark: str) -> Iterator[Program]:
    """Yield the programs of the pages in a folder, once for each line that begins with ``mark``."""
    for path in sorted(folder.glob("*.md")):
        for name, limit, text in PROGRAM.findall(path.read_text()):
            said = [line.removeprefix(mark) for line in text.splitlines() if line.startswith(mark)]
            lines = tuple(line for line in text.splitlines() if not line.startswith(mark))
            yield from (Program(path.stem, name, limit, lines, each) for each in said or [""])


def blocks(folder: Path) -> int:
    """How many programs there should be."""
    return sum(path.read_text().count("```py\n") for path in folder.glob("*.md"))


def executed(text: str, name: str) -> dict[str, object]:
    """Run a program, and return its variables."""
    torch.manual_seed(0)
    names: dict[str, object] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(text, name, "exec"), names)
    return names
