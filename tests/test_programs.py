"""Small programs of one feature each, in tests/programs/*.md: torch says whether they raise, and the linter agrees.

Each ```py block there defines `f`, which is given a parameter of four rows and four columns. A line `Known limit: ...`
above a block says why the two do not agree; as soon as they do, the line has to go.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import nn

from flake8_inplace.analysis import analyze

PROGRAM = re.compile(r"^## ([^\n]+)\n\n(?:Known limit: ([^\n]+)\n\n)?```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IMPORTS = """\
import abc, collections, contextlib, copy, dataclasses, enum, functools, itertools, operator
import torch
import torch.nn.functional as F
from torch import nn
"""


@dataclass(frozen=True)
class Program:
    """One program: the file and the heading that it stands under, why it is a known limit, and its text."""

    file: str
    heading: str
    limit: str
    text: str


def programs() -> list[Program]:
    files = sorted(Path(__file__).with_name("programs").glob("*.md"))
    return [Program(path.stem, *match) for path in files for match in PROGRAM.findall(path.read_text())]


def raises(program: Program) -> bool:
    """Whether the program raises what autograd says of in-place operations. Raises whatever else goes wrong."""
    torch.manual_seed(0)
    names: dict[str, object] = {"__name__": "program"}
    exec(compile(IMPORTS + program.text, str(program), "exec"), names)
    function = names["f"]
    assert callable(function)
    try:
        function(nn.Parameter(torch.rand(4, 4) + 0.1)).sum().backward()
    except RuntimeError as error:
        if not re.search("in-?place", str(error)):
            raise
        return True
    return False


@pytest.mark.parametrize("program", programs(), ids=lambda program: f"{program.file}: {program.heading}")
def test_the_linter_agrees_with_torch(program: Program, request: pytest.FixtureRequest) -> None:
    expected = raises(program)
    if program.limit:
        request.applymarker(pytest.mark.xfail(reason=program.limit, strict=True))
    found = [(finding.line - IMPORTS.count("\n"), finding.code) for finding in analyze(IMPORTS + program.text).findings]
    assert bool(found) == expected, found


def test_every_block_is_a_program() -> None:
    texts = [path.read_text() for path in Path(__file__).with_name("programs").glob("*.md")]
    assert len(programs()) == sum(text.count("```py\n") for text in texts) > 0
