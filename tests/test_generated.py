"""Generated programs: the linter flags a program exactly if torch raises the saved-tensor error.

`python -m tests.generated.run` compares many more, and prints rates; here every program counts.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from generated import oracle
from generated.compare import compare
from generated.minimise import minimise
from generated.programs import make_program, programs
from hypothesis import HealthCheck, given, note, settings

KEPT = sorted((Path(__file__).parent / "generated" / "kept").glob("*.py"))

#: Kept programs that linter and torch still disagree on, and why.
KNOWN_LIMITS: dict[str, str] = {
    "attention_of_matrices": "false alarm: without batch dimensions attention is computed by other ops",
    "group_norm_of_expanded": "false alarm: an op that wants contiguous memory saves a copy of an expanded input",
    "lstm_of_expanded": "false alarm: an op that wants contiguous memory saves a copy of an expanded input",
    "view_of_a_transpose_saves_the_parameter": "missed: reshape of a view of a parameter shares its memory",
}

OUTCOMES = {"raises": "saved", "clean": "clean"}


def kept_programs() -> list[object]:
    marks = {name: pytest.mark.xfail(reason=reason, strict=True) for name, reason in KNOWN_LIMITS.items()}
    return [pytest.param(p, id=p.stem, marks=[marks[p.stem]] if p.stem in marks else []) for p in KEPT]


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_kept_program_under_torch(path: Path) -> None:
    source = path.read_text()
    expected = source.splitlines()[0].removeprefix("# torch: ")
    assert oracle.judge(source).outcome == OUTCOMES[expected]


@pytest.mark.parametrize("path", kept_programs())
def test_kept_program(path: Path) -> None:
    compared = compare(path.read_text())
    assert compared.kind == "agree", compared


def test_known_limits_are_kept() -> None:
    assert KNOWN_LIMITS.keys() <= {path.stem for path in KEPT}


@settings(
    max_examples=200, derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.data_too_large]
)
@given(programs())
def test_agreement(source: str) -> None:
    compared = compare(source)
    note(source)
    assert compared.kind in ("agree", "discarded"), compared


@pytest.mark.parametrize("share", range(6))
def test_agreement_on_fixed_programs(share: int) -> None:
    for number in range(share * 100, share * 100 + 100):
        source = make_program(random.Random(f"0:{number}"))
        kind = compare(source).kind
        if kind not in ("agree", "discarded"):
            short = minimise(source, lambda text, kind=kind: compare(text).kind == kind)
            pytest.fail(f"program 0:{number}: {kind}\n{short}")


def test_programs_are_the_same_for_a_seed() -> None:
    assert make_program(random.Random("1:2")) == make_program(random.Random("1:2"))


def test_programs_run_and_differ() -> None:
    sources = [make_program(random.Random(f"7:{i}")) for i in range(200)]
    outcomes = [oracle.judge(source).outcome for source in sources]
    assert len(set(sources)) == len(sources)
    assert 30 <= outcomes.count("saved") <= 100
    assert outcomes.count("saved") + outcomes.count("clean") >= 190


def test_trace_agrees_with_the_verdict() -> None:
    for i in range(100):
        source = make_program(random.Random(f"8:{i}"))
        outcome = oracle.judge(source).outcome
        if outcome in ("saved", "clean"):
            assert bool(oracle.trace(source)) == (outcome == "saved"), source


OVERWRITTEN = """\
import torch

def double(v):
    return v.mul_(2.0)

def program(flag):
    w = torch.ones(4, requires_grad=True)
    x = torch.exp(w)
    if flag:
        double(x)
    x.sum().backward()
"""


def test_oracle_names_the_lines() -> None:
    assert oracle.judge(OVERWRITTEN).outcome == "saved"
    (found,) = oracle.trace(OVERWRITTEN)
    assert found.saved.lines == (8,)
    assert [write.lines for write in found.writes] == [(4, 10)]


def test_minimise_keeps_the_property() -> None:
    source = OVERWRITTEN.replace("    if flag", "    unused = torch.zeros(3).exp()\n    if flag")
    short = minimise(source, lambda text: oracle.judge(text).outcome == "saved")
    assert "unused" not in short
    assert "if flag" not in short
    assert oracle.judge(short).outcome == "saved"
