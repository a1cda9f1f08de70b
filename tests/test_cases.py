"""Every program of tests/cases, executed and linted.

A case marks each hazardous write with `# HAZARD kind`. Executing it proves the mark: `bad()` raises (or computes
something else than it should) and `good()` does not. Linting it proves the linter: each marked statement is found,
and nothing else in the file is.
"""

import ast
import importlib.util
import re
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
import torch

from flake8_inplace.analysis import analyze

CASES = sorted(Path(__file__).with_name("cases").glob("*.py"))
MARK = re.compile(r"#\s*HAZARD\s+(saved|leaf|view|silent|step|other)\b")

#: Missed alarms: a case with a mark that is not found, and why. One that is found must leave.
KNOWN_MISSES: dict[str, str] = {
    "compiled_module_reuses_output_buffer.py": "sizes are not followed: that both batches have one size is not known",
    "ensemble_mean_is_first_prediction.py": "an element of a list that takes in others may be meant to be a total",
    "sparse_autoencoder_decoder_norm_through_data.py": "a projection of parameters through `.data` is mostly meant",
    "validation_metrics_denormalise_output_dict.py": "a method called as a statement is taken to change its argument",
}

Span = tuple[int, int]

each_case = pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)


@each_case
def test_executed(path: Path) -> None:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of some of the hazards besides raising
        case = load(path)
        if case.RAISES == "silent":
            actual, expected = case.bad()
            assert not torch.allclose(actual, expected)
            pair = case.good()
            assert pair is None or torch.allclose(*pair)
        else:
            with pytest.raises(RuntimeError, match=re.escape(case.RAISES)):
                case.bad()
            case.good()


@each_case
def test_nothing_else_is_found(path: Path) -> None:
    marks, alternatives, findings = linted(path)
    false_alarms = [text for span, text in findings if span not in marks and span not in alternatives]
    assert not false_alarms


@each_case
def test_marks_are_found(path: Path) -> None:
    marks, alternatives, findings = linted(path)
    found = {span for span, _ in findings}
    missed = [
        f"{path.name}:{span[0]} {kind}"
        for span, kind in marks.items()
        if span not in found and not alternatives & found
    ]
    if path.name in KNOWN_MISSES:
        assert missed, f"found now: take {path.name} out of KNOWN_MISSES"
    else:
        assert not missed


def test_the_table_names_cases() -> None:
    assert KNOWN_MISSES.keys() <= {path.name for path in CASES}
    assert all(MARK.search(path.read_text()) for path in CASES)


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"case_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def linted(path: Path) -> tuple[dict[Span, str], set[Span], list[tuple[Span, str]]]:
    """The marked statements with their kinds, those marked as the other place to report, and what is found where."""
    source = path.read_text()
    spans = list(statement_spans(ast.parse(source)))
    marks: dict[Span, str] = {}
    alternatives = set()
    for number, line in enumerate(source.splitlines(), 1):
        if mark := MARK.search(line):
            marks[statement_at(spans, number)] = mark[1]
        if "ALT-SITE" in line:
            alternatives.add(statement_at(spans, number))
    findings = [
        (statement_at(spans, found.line), f"{path.name}:{found.line}: {found.code} {found.message}")
        for found in analyze(source).findings
    ]
    return marks, alternatives, findings


def statement_spans(tree: ast.Module) -> Iterator[Span]:
    """First and last line of each simple statement, and of the header of each compound one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            end = node.end_lineno or node.lineno
            body = getattr(node, "body", None)
            if isinstance(body, list) and body:
                end = max(node.lineno, body[0].lineno - 1)
            yield node.lineno, end


def statement_at(spans: list[Span], line: int) -> Span:
    inside = [span for span in spans if span[0] <= line <= span[1]]
    return min(inside, key=lambda span: span[1] - span[0], default=(line, line))
