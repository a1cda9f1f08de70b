"""What each part of the work on a file costs, over some of the programs of tests/cases.

    python -m pytest tests/benchmarks/test_parts.py --benchmark-only

prints the times. Where tests run in several processes, as in CI, each part runs once and nothing is timed.
"""

import ast
from pathlib import Path
from typing import Any

from flake8_inplace import verdicts
from flake8_inplace.finding import Finding
from flake8_inplace.hazards import TRIGGERS
from flake8_inplace.interpreter.schedule import analyse
from flake8_inplace.program.pieces import Scan
from flake8_inplace.program.scan import scan
from flake8_inplace.report import entries, text
from flake8_inplace.trace.trace import Trace

SOURCES = [path.read_text() for path in sorted(Path(__file__).parents[1].joinpath("cases").glob("*.py"))[::12]]
TREES = [ast.parse(source) for source in SOURCES]


def gate() -> list[Scan]:
    """Which files, and which pieces of them, are worth reading: all that most files cost."""
    return [file for source, tree in zip(SOURCES, TREES, strict=True) if (file := scan(source, tree, TRIGGERS))]


def plant(files: list[Scan]) -> int:
    """The trees of what is worth reading."""
    pieces = [part for file in files for piece in file.worth for part in (piece, *piece.functions.values())]
    return sum(len(piece.read().body) for piece in pieces)


def interpret(files: list[Scan]) -> list[Trace]:
    return [analyse(file) for file in files]


def report(machines: list[Trace]) -> list[Finding]:
    every = [verdicts.findings(m.reports.hazards.values(), m.reports.misuses) for m in machines]
    return [finding for found in every for rows in found.values() for finding in rows]


def test_gate(benchmark: Any) -> None:
    assert len(benchmark(gate)) == len(SOURCES)  # each holds a hazard


def test_tree(benchmark: Any) -> None:
    assert benchmark.pedantic(plant, setup=lambda: ((gate(),), {}), rounds=5) > len(SOURCES)


def test_interpret(benchmark: Any) -> None:
    def read() -> tuple[tuple[list[Scan]], dict[str, Any]]:
        files = gate()
        plant(files)
        return (files,), {}

    machines = benchmark.pedantic(interpret, setup=read, rounds=5)
    assert all(m.budget.statements for m in machines)


def test_report(benchmark: Any) -> None:
    found = benchmark.pedantic(report, setup=lambda: ((interpret(gate()),), {}), rounds=5)
    assert len(found) >= len(SOURCES) - 2


def test_text(benchmark: Any) -> None:
    found = [report([machine]) for machine in interpret(gate())]

    def write() -> list[str]:
        return [text(entries("net.py", *both)) for both in zip(SOURCES, found, strict=True)]

    assert sum(map(len, benchmark(write))) > 100 * sum(map(len, found))
