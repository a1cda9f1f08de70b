"""The abstract state itself, asserted in tests/flow/*.md: each ```py block there is analysed on its own.

A call of the undefined name `reveal` records what the analysis knows of its argument:

    reveal(h)  # revealed: saved[sigmoid:result] grad

and each finding is announced on its line, several codes separated by commas:

    h += 1  # error: [TIP103]

Both hold both ways: a state or a finding that is not announced is as much a failure as one that does not come.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest

from flake8_inplace.analysis import analyze

FLOW = Path(__file__).with_name("flow")
FENCE = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
REVEALED = re.compile(r"#\s*revealed:\s*(.*?)\s*(?:#|$)", re.MULTILINE)
ERROR = re.compile(r"#\s*error:\s*\[([^\]]*)\]")


@dataclass(frozen=True)
class Block:
    """One fenced program: the file, the heading above it, its first line there, its text."""

    file: str
    heading: str
    first_line: int
    source: str

    def __str__(self) -> str:
        return f"{self.file}:{self.first_line}:{self.heading}"


def blocks(path: Path) -> list[Block]:
    text = path.read_text()
    found = []
    for fence in FENCE.finditer(text):
        headings = HEADING.findall(text, 0, fence.start())
        first_line = text.count("\n", 0, fence.start(1)) + 1
        found.append(Block(path.name, headings[-1] if headings else "", first_line, fence[1]))
    return found


BLOCKS = [block for path in sorted(FLOW.glob("*.md")) for block in blocks(path)]


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_flow(block: Block) -> None:
    result = analyze(block.source)
    actual: dict[int, list[str]] = defaultdict(list)
    for line, text in result.reveals:
        actual[line].append(f"revealed: {text}")
    for finding in result.findings:
        actual[finding.line].append(f"error: [{finding.code}]")
    assert written(block, actual) == written(block, announced(block.source))


def announced(source: str) -> dict[int, list[str]]:
    expected: dict[int, list[str]] = defaultdict(list)
    for number, line in enumerate(source.splitlines(), 1):
        expected[number] += [f"revealed: {text}" for text in REVEALED.findall(line)]
        for codes in ERROR.findall(line):
            expected[number] += [f"error: [{code.strip()}]" for code in codes.split(",")]
    return expected


def written(block: Block, said: dict[int, list[str]]) -> list[str]:
    """What is said of each line, with the line as it stands in the Markdown file: a failure reads as a diff."""
    lines = block.source.splitlines()
    return [
        f"{block.file}:{block.first_line + number - 1}: {lines[number - 1].split('#')[0].strip()}  # {text}"
        for number in sorted(said)
        for text in sorted(said[number])
    ]


def test_every_file_has_blocks() -> None:
    files = {path.name for path in FLOW.glob("*.md")}
    assert files
    assert {block.file for block in BLOCKS} == files


def test_every_block_asserts_something() -> None:
    assert [str(block) for block in BLOCKS if not (REVEALED.search(block.source) or ERROR.search(block.source))] == []
