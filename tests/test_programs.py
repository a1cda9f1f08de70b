"""Small programs of one feature each, in tests/programs/*.md: torch says whether they raise, and the linter agrees.

Each ```py block there defines `f`, which is given a parameter of four rows and four columns. A function `meant` returns
what `f` would return if no two names shared memory: where the two differ, `f` is silently wrong. A line
`Known limit: ...` above a block says why torch and the linter do not agree; as soon as they do, the line has to go.
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


REFUSED = re.compile("(?i)in-?place|single memory location|resize|derivative|marked as dirty|requires grad")
"""What torch says of in-place operations."""


def is_wrong(program: Program) -> bool:
    """Execute a program: whether it goes wrong."""
    names: dict[str, object] = {"__name__": "program"}
    exec(compile(IMPORTS + program.text, str(program), "exec"), names)
    return goes_wrong(names)


def goes_wrong(names: dict[str, object]) -> bool:
    """Whether the program raises what torch says of in-place operations, or returns something else than is meant.

    Raises whatever else goes wrong.
    """
    meant = names.get("meant")
    try:
        result = backpropagated(names["f"], meant is not None)
    except RuntimeError as error:
        if not REFUSED.search(str(error)):
            raise
        return True
    if meant is None:
        return False
    wanted = backpropagated(meant, True)
    return result.shape != wanted.shape or not torch.allclose(result, wanted)


def backpropagated(function: object, may_be_constant: bool) -> torch.Tensor:
    """Return what a function makes of a parameter, after the backward pass."""
    torch.manual_seed(0)
    assert callable(function)
    result = function(nn.Parameter(torch.rand(4, 4) + 0.1))
    assert isinstance(result, torch.Tensor)
    if result.requires_grad or not may_be_constant:
        result.sum().backward()
    return result.detach()


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
@pytest.mark.filterwarnings("ignore:Use of index_fill_ on expanded")
@pytest.mark.filterwarnings("ignore:.torch.nn.utils.weight_norm. is deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True")
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # torch.compile asks for it
@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled")
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state")
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")  # forward mode uses it
@pytest.mark.parametrize("program", programs(), ids=lambda program: f"{program.file}: {program.heading}")
def test_the_linter_agrees_with_torch(program: Program, request: pytest.FixtureRequest) -> None:
    expected = is_wrong(program)
    if program.limit:
        request.applymarker(pytest.mark.xfail(reason=program.limit, strict=True))
    found = [(finding.line - IMPORTS.count("\n"), finding.code) for finding in analyze(IMPORTS + program.text).findings]
    assert bool(found) == expected, found
    end = program.text.find("def meant(")
    assert all(line <= program.text.count("\n", 0, end) for line, _ in found if end >= 0), found


def test_every_block_is_a_program() -> None:
    texts = [path.read_text() for path in Path(__file__).with_name("programs").glob("*.md")]
    assert len(programs()) == sum(text.count("```py\n") for text in texts) > 0
