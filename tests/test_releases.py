"""Facts by release of PyTorch: their ranges, the option that selects one, and how they were measured."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flake8_inplace.torchfacts import notation, ops
from flake8_inplace.torchfacts.releases import NEWEST, Range, format_row, release_of, split_row

# -- ranges


@pytest.mark.parametrize("text", ["2.6", "2.6.0", "2.6.1+cu124", "2.6.0a0+git1234"])
def test_a_release_is_its_first_two_numbers(text: str) -> None:
    assert release_of(text) == (2, 6)


@pytest.mark.parametrize("text", ["", "2", "two", "v2.6", "2.6 or so", "<2.6", "2.6rc1"])
def test_what_is_no_release(text: str) -> None:
    with pytest.raises(ValueError, match="is no release of PyTorch; write it like "):
        release_of(text)


RANGES = {
    "@torch<2.6": (["2.4", "2.5"], ["2.6", "2.10"]),
    "@torch>=2.6": (["2.6", "2.10"], ["2.5", "1.13"]),
    "@torch>=2.6,<2.10": (["2.6", "2.9"], ["2.5", "2.10"]),
}


@pytest.mark.parametrize(("mark", "inside", "outside"), [(mark, *both) for mark, both in RANGES.items()], ids=RANGES)
def test_ranges(mark: str, inside: list[str], outside: list[str]) -> None:
    row, during = split_row(f"relu|x:T|result<x||fresh {mark}")
    assert row == "relu|x:T|result<x||fresh"
    assert [text for text in (*inside, *outside) if release_of(text) in during] == inside
    assert (NEWEST in during) is ("<" not in mark)
    assert format_row(row, during) == f"{row} {mark}"


def test_a_row_without_a_range_holds_always() -> None:
    row = "gru|x:T|result<x@cuda"  # the mark of a device is none of a release
    assert split_row(row) == (row, Range())
    assert NEWEST in Range() and (1, 0) in Range()
    assert format_row(row, Range()) == row


NO_RANGES = ["@torch", "@torch2.6", "@torch=2.6", "@torch<=2.6", "@torch<2", "@torch<2.6,", "@torch<2.6,<2.8"]


@pytest.mark.parametrize("mark", NO_RANGES)
def test_what_is_no_range(mark: str) -> None:
    with pytest.raises(ValueError, match="is no range of releases; write it like '@torch<"):
        split_row(f"relu|x:T|result<x||fresh {mark}")


# -- selection

TABLE = {
    "rows": ["pow|x:T n:T|n<x||fresh", "pow|x:T n|x<x||fresh", "exp|x:T|result<x||fresh"],
    "names": {"torch.pow": [0, 1], "torch.exp": [2]},
    "modules": {"torch.nn.Gate": {"op": "Gate|x:T|x<x||fresh", "inplace": "Gate|x:T||x|same(x)"}},
    "older": {
        "torch.pow": ["pow|x:T n|||fresh @torch<2.6", "pow|x:T n m|x<x||fresh @torch>=2.4,<2.8"],
        "torch.gone": ["gone|x:T|x<x||fresh @torch<2.6"],
        "torch.nn.Gate": ["Gate|x:T|result<x||fresh @torch<2.6"],
        "torch.nn.Gate(inplace)": ["Gate|x:T|result<x|x|same(x) @torch<2.8"],
    },
}


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A small table in the place of the real one."""
    data = json.loads(json.dumps(TABLE))
    monkeypatch.setattr(ops, "table", lambda: data)
    ops.lookup.cache_clear()
    yield data
    ops.lookup.cache_clear()


def rows(name: str) -> list[str]:
    return [notation.format_op(op) for op in ops.lookup(name)]


def test_the_newest_needs_no_selection(known: Any) -> None:
    assert rows("torch.pow") == TABLE["rows"][:2]
    assert rows("torch.gone") == []


@pytest.mark.parametrize("release", ["2.8", "2.13.0", "3.0"])
def test_a_release_without_differences(known: Any, release: str) -> None:
    ops.select(release)
    assert rows("torch.pow") == TABLE["rows"][:2]
    assert known["modules"] == TABLE["modules"]


def test_an_older_row_takes_the_place_of_the_newest(known: Any) -> None:
    """One with parameters of its own goes first, a name that is gone comes back, and a layer has its forms."""
    ops.select("2.5")
    assert rows("torch.pow") == ["pow|x:T n m|x<x||fresh", "pow|x:T n:T|n<x||fresh", "pow|x:T n|||fresh"]
    assert rows("torch.gone") == ["gone|x:T|x<x||fresh"]
    assert rows("torch.exp") == ["exp|x:T|result<x||fresh"]
    assert known["modules"]["torch.nn.Gate"] == {
        "op": "Gate|x:T|result<x||fresh",
        "inplace": "Gate|x:T|result<x|x|same(x)",
    }


def test_each_range_is_asked_by_itself(known: Any) -> None:
    ops.select("2.6")
    assert rows("torch.pow") == ["pow|x:T n m|x<x||fresh", *TABLE["rows"][:2]]
    assert rows("torch.gone") == []
    assert known["modules"]["torch.nn.Gate"] == {
        "op": "Gate|x:T|x<x||fresh",
        "inplace": "Gate|x:T|result<x|x|same(x)",
    }


# -- one's own operators

OWN = {
    "format": 1,
    "rows": ["gate|x:T|result<x||fresh @torch<2.6", "gate|x:T|||fresh @torch>=2.6"],
    "names": {"own.gate": [0, 1]},
    "modules": {"own.Gate": {"op": "Gate|x:T|result<x||fresh @torch<2.6"}},
}


@pytest.mark.parametrize(("release", "row"), [("2.5", "gate|x:T|result<x||fresh"), ("2.6", "gate|x:T|||fresh")])
def test_rows_of_ones_own_may_have_a_range(known: Any, tmp_path: Path, release: str, row: str) -> None:
    (tmp_path / "own.json").write_text(json.dumps(OWN))
    ops.select(release)
    ops.extend(str(tmp_path / "own.json"))
    assert rows("own.gate") == [row]
    assert ("own.Gate" in known["modules"]) is (release == "2.5")


def test_a_bad_range_of_ones_own_is_one_clear_line(known: Any, tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text(json.dumps(OWN).replace("@torch<2.6", "@torch~2.6"))
    with pytest.raises(ops.FactsError) as error:
        ops.extend(str(tmp_path / "own.json"))
    assert "own.json: not a table of operators: '@torch~2.6' is no range of releases" in str(error.value)
    assert "\n" not in str(error.value)


# -- the option


def lint(folder: Path, *options: str, command: tuple[str, ...] = ("flake8", "--isolated")) -> list[str]:
    run = [sys.executable, "-m", *command, "--select=TIP", *options, "net.py"]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False)
    return [*done.stdout.splitlines(), *done.stderr.splitlines()]


COMMANDS = [("flake8", "--isolated"), ("flake8_inplace", "check", "-q")]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_value_that_is_no_release_is_one_clear_line(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "net.py").write_text("import torch\n")
    said = lint(tmp_path, "--inplace-torch=new", command=command)
    assert said[-1].endswith("inplace-torch: 'new' is no release of PyTorch; write it like 2.6")
    assert len(said) <= 2  # flake8 has a headline


PROGRAM = """
import torch


def scaled(x: torch.Tensor, exponent: torch.Tensor):
    y = torch.ldexp(x, exponent)
    y.mul_(2)
    return y


def kept(x: torch.Tensor, exponent: torch.Tensor):
    y = torch.ldexp(x, exponent)
    x.mul_(2)
    return y
"""
"""Executed under torch 2.4.1 and 2.13: `ldexp` kept its operands then, and keeps its result now."""

SELECTIONS = {
    "": ["7"],
    "[flake8]\ninplace-torch = 2.4\n": ["13"],
    "[flake8]\ninplace-torch = 2.13.0\n": ["7"],
}


@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
@pytest.mark.parametrize(("text", "found"), SELECTIONS.items(), ids=["newest", "2.4", "2.13"])
def test_a_finding_that_depends_on_the_release(tmp_path: Path, text: str, found: list[str], jobs: str) -> None:
    (tmp_path / "net.py").write_text(PROGRAM)
    (tmp_path / "other.py").write_text("import torch\n")
    (tmp_path / ".flake8").write_text(text)
    rows = lint(tmp_path, jobs, "other.py", command=("flake8",))
    assert [row.split(":")[1] for row in rows] == found


@pytest.mark.parametrize(("release", "found"), [("2.4", ["13"]), ("2.20", ["7"]), ('"2.4.1"', ["13"])])
def test_the_release_in_pyproject(tmp_path: Path, release: str, found: list[str]) -> None:
    """A number of TOML is read as it is written: 2.20 is not 2.2, which would be older."""
    (tmp_path / "net.py").write_text(PROGRAM)
    (tmp_path / "pyproject.toml").write_text(f"[tool.flake8-inplace]\ninplace-torch = {release}\n")
    assert [row.split(":")[1] for row in lint(tmp_path, command=COMMANDS[1])] == found


# -- how they were measured

VERSIONS = Path(__file__).parent.parent / "docs" / "verification" / "versions.json"


def test_the_measured_rows_are_those_of_the_table() -> None:
    result = json.loads(VERSIONS.read_text())
    older: dict[str, list[str]] = {}
    for row in result["rows"]:
        for name in row["names"]:
            older.setdefault(name, []).append(row["older"])
    assert older == ops.table()["older"]
    assert result["releases"][-1]["torch"].partition("+")[0] == ops.torch_version()
    assert result["releases"][-1]["differ"] == 0


def test_older_rows_are_read_and_written_alike() -> None:
    found = [split_row(row) for older in ops.table()["older"].values() for row in older]
    assert [row for row, _ in found if notation.format_op(notation.parse_op(row)) != row] == []
    assert [row for row, during in found if NEWEST in during] == []


def test_the_tables_of_the_page() -> None:
    """`python -m flake8_inplace.torchfacts.versions` prints them."""
    pytest.importorskip("torch")
    pytest.importorskip("expecttest")
    from flake8_inplace.torchfacts import versions

    if versions.RESULT != VERSIONS:
        pytest.skip("the script prints the measurements that lie beside its source")
    assert versions.markdown() in (VERSIONS.parents[1] / "adding-an-op.md").read_text(encoding="utf-8")


def result(*differences: tuple[str, str, str]) -> dict[str, Any]:
    rows = [{"names": [name], "fact": fact, "here": here} for name, fact, here in differences]
    return {"operators": {"differences": rows}}


def test_ranges_reach_to_the_first_release_that_has_the_fact() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("expecttest")
    from flake8_inplace.torchfacts import versions

    exp, new = ("torch.exp", "exp|x:T|x<x||fresh"), "exp|x:T|||fresh"
    results = {
        (2, 4): result((*exp, new), ("torch.sin", "sin|x:T|||fresh", "sin|x:T|x<x||fresh")),
        (2, 6): result((*exp, new)),
        (2, 8): result(),
        (2, 10): result((*exp, new)),
        (2, 13): result(),
    }
    assert versions.differing(results) == {
        (f"{new} @torch<2.8", exp[1]): ["torch.exp"],
        (f"{new} @torch>=2.10,<2.13", exp[1]): ["torch.exp"],
        ("sin|x:T|x<x||fresh @torch<2.6", "sin|x:T|||fresh"): ["torch.sin"],
    }
    with pytest.raises(SystemExit, match="the newest release differs"):
        versions.differing({(2, 4): result(), (2, 6): result((*exp, new))})


def test_a_call_that_crashes_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The options that are tried are chosen for the pinned release; kernels of others may not check them."""
    torch = pytest.importorskip("torch")
    from flake8_inplace.torchfacts import execution

    def crash(x: Any, n: int = 1) -> Any:
        if n == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return x * n

    monkeypatch.setattr(execution, "torch_version", lambda: "0.1")
    overload = execution.Overload(notation.parse_op("crash|x:T n?"), False)
    assert execution.measure([overload], crash, (torch.ones(2),), {})
    tried = {run.options.get("n") for run in overload.runs if run.changed == "n"}
    assert {3, 4} <= tried
    assert 2 not in tried
