"""Programs that raise in backward, or at a write that PyTorch refuses, with their right twins: tests/raising/*.md.

Both are executed. Lines that end in `#-` stand in the wrong version only, lines that end in `#+` in the right one only,
and what follows `#!` is a part of the error. `clean.md` has no twins: its programs are right.
A line `Known limit: ...` above a program says why the linter doesn't tell the two apart; as soon as it does, the line
has to go.
"""

import re
from pathlib import Path

import pytest
from twins import Program, blocks, executed, programs

from flake8_inplace.analysis import analyze

FOLDER = Path(__file__).with_name("raising")
PROGRAMS = list(programs(FOLDER, "#! "))
PAIRS = [program for program in PROGRAMS if program.difference]

each_pair = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.heading)


@pytest.mark.filterwarnings("ignore")
@each_pair
def test_the_wrong_version_raises(pair: Program) -> None:
    with pytest.raises(RuntimeError, match=re.escape(pair.difference)):
        executed(pair.text("#-"), pair.heading)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.heading)
def test_the_right_version_does_not(program: Program) -> None:
    executed(program.text("#+"), program.heading)


@each_pair
def test_the_wrong_version_is_found(pair: Program, request: pytest.FixtureRequest) -> None:
    if pair.limit:
        request.applymarker(pytest.mark.xfail(reason=pair.limit, strict=True))
    assert analyze(pair.text("#-")).findings


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.heading)
def test_nothing_is_found_in_the_right_version(program: Program) -> None:
    assert not analyze(program.text("#+")).findings


def test_every_block_is_a_program() -> None:
    assert len(PROGRAMS) == blocks(FOLDER)
    assert all(bool(program.difference) == (program.page != "clean") for program in PROGRAMS)
