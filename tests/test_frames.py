"""Programs with frames of pandas, in tests/frames/*.md, with right twins as in tests/silent.

They are executed where there is a pandas. Since its release 3 it locks the arrays over a frame, so that some of the
wrong versions raise.
"""

from pathlib import Path

import pytest
from twins import Program, blocks, executed, programs

from flake8_inplace.analysis import analyze

FOLDER = Path(__file__).with_name("frames")
PROGRAMS = list(programs(FOLDER, "#? "))
PAIRS = [program for program in PROGRAMS if program.difference]
CLEAN = [program for program in PROGRAMS if not program.difference]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.heading)
def test_the_two_versions_differ(pair: Program) -> None:
    pandas = pytest.importorskip("pandas")
    found = analyze(pair.text("#-")).findings
    assert eval(pair.difference, executed(pair.text("#+"), pair.heading))
    if pandas.__version__ >= "3" and all("before pandas 3" in finding.conditions for finding in found):
        with pytest.raises(ValueError, match="read-only"):
            executed(pair.text("#-"), pair.heading)
    else:
        assert not eval(pair.difference, executed(pair.text("#-"), pair.heading))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.heading)
def test_the_linter_tells_them_apart(pair: Program) -> None:
    assert analyze(pair.text("#-")).findings
    assert not analyze(pair.text("#+")).findings


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", CLEAN, ids=lambda program: program.heading)
def test_a_clean_program_has_no_finding(program: Program) -> None:
    assert not analyze(program.text("#+")).findings


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", CLEAN, ids=lambda program: program.heading)
def test_a_clean_program_runs(program: Program) -> None:
    pytest.importorskip("pandas")
    executed(program.text("#+"), program.heading)


def test_every_program_is_a_test() -> None:
    assert len(PROGRAMS) == blocks(FOLDER) > 10
