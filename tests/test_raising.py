"""Programs that raise in backward, or at a write that PyTorch refuses, with their right twins: tests/raising/*.md.

Both are executed. Lines that end in `#-` stand in the wrong version only, lines that end in `#+` in the right one only,
and what follows `#!` is a part of the error. `clean.md` has no twins: its programs are right.
A line `Known limit: ...` above a program says why the linter doesn't tell the two apart; as soon as it does, the line
has to go.
"""

import contextlib
import io
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from flake8_inplace.analysis import analyze

PROGRAM = re.compile(r"^## ([^\n]+)\n\n(?:Known limit: ([^\n]+)\n\n)?```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FOLDER = Path(__file__).with_name("raising")


@dataclass(frozen=True)
class Program:
    """A program: the heading, why it is a known limit, its lines, and a part of what the wrong version raises."""

    heading: str
    limit: str
    lines: tuple[str, ...]
    error: str

    def text(self, mark: str) -> str:
        """The version with the lines that end in a mark, without those that end in the other."""
        other = "#-" if mark == "#+" else "#+"
        return "\n".join(line.removesuffix(mark).rstrip() for line in self.lines if not line.endswith(other)) + "\n"


def programs() -> list[Program]:
    found = []
    for path in sorted(FOLDER.glob("*.md")):
        for heading, limit, text in PROGRAM.findall(path.read_text()):
            error = "".join(line.removeprefix("#! ") for line in text.splitlines() if line.startswith("#! "))
            lines = tuple(line for line in text.splitlines() if not line.startswith("#! "))
            found.append(Program(f"{path.stem}: {heading}", limit, lines, error))
    return found


def execute(text: str, name: str) -> None:
    torch.manual_seed(0)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(text, name, "exec"), {"__name__": "__main__"})


PROGRAMS = programs()
PAIRS = [program for program in PROGRAMS if program.error]

each_pair = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.heading)


@pytest.mark.filterwarnings("ignore")
@each_pair
def test_the_wrong_version_raises(pair: Program) -> None:
    with pytest.raises(RuntimeError, match=re.escape(pair.error)):
        execute(pair.text("#-"), pair.heading)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.heading)
def test_the_right_version_does_not(program: Program) -> None:
    execute(program.text("#+"), program.heading)


@each_pair
def test_the_wrong_version_is_found(pair: Program, request: pytest.FixtureRequest) -> None:
    if pair.limit:
        request.applymarker(pytest.mark.xfail(reason=pair.limit, strict=True))
    assert analyze(pair.text("#-")).findings


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.heading)
def test_nothing_is_found_in_the_right_version(program: Program) -> None:
    assert not analyze(program.text("#+")).findings


def test_every_block_is_a_program() -> None:
    texts = [path.read_text() for path in FOLDER.glob("*.md")]
    assert len(PROGRAMS) == sum(text.count("```py\n") for text in texts)
    assert all(bool(program.error) == (not program.heading.startswith("clean:")) for program in PROGRAMS)
