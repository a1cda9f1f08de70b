"""What is kept from one run to the next: the same output, and never that of another state of the project."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flake8_inplace import cache
from flake8_inplace.analysis import Program, Result
from flake8_inplace.program.imports import Project

TESTS = Path(__file__).parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(TESTS.parent), "PYTHONDONTWRITEBYTECODE": "1"}
HELPERS = "def shift(h):\n    h += 1\n    return h\n"
MAIN = """\
import torch
from helpers import shift


def gate(w: torch.nn.Parameter):
    h = torch.sigmoid(w)
    return shift(h) + h
"""
HAZARD = "import torch\n\n\ndef gate(w: torch.nn.Parameter):\n    h = torch.sigmoid(w)\n    h += 1\n    return h\n"


def check(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "flake8_inplace", "check", "--format=json", "--jobs=1", *arguments]
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=600)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [f"{row['path']}:{row['line']}" for row in json.loads(done.stdout)["findings"]]


def entries(folder: Path) -> list[Path]:
    return sorted((folder / cache.FOLDER).glob("*/*.json"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two files, and what a first run keeps of them."""
    (tmp_path / "setup.cfg").write_text("")
    (tmp_path / "helpers.py").write_text(HELPERS)
    (tmp_path / "main.py").write_text(MAIN)
    assert lines(check(tmp_path)) == ["main.py:7"]
    assert len(entries(tmp_path)) == 2
    return tmp_path


@pytest.mark.parametrize("tree", ["cases", "projects"])
def test_a_hit_gives_the_same_bytes(tree: str, tmp_path: Path) -> None:
    shutil.copytree(TESTS / tree, tmp_path / tree)
    cold, warm, without = check(tmp_path), check(tmp_path), check(tmp_path, "--no-cache")
    assert lines(cold)
    assert (cold.stdout, cold.stderr, cold.returncode) == (warm.stdout, warm.stderr, warm.returncode)
    assert (cold.stdout, cold.returncode) == (without.stdout, without.returncode)


def test_a_hit_analyses_nothing(project: Path) -> None:
    """What is kept is believed: here a wrong line."""
    for entry in entries(project):
        data = json.loads(entry.read_text())
        for finding in data["findings"]:
            finding[1] = [3, 4]
        entry.write_text(json.dumps(data))
    assert lines(check(project)) == ["main.py:3"]
    assert lines(check(project, "--no-cache")) == ["main.py:7"]


EDITS: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "the file itself": (lambda folder: (folder / "main.py").write_text("\n" + MAIN), ["main.py:8"]),
    "a file that it imports": (lambda folder: (folder / "helpers.py").write_text(HELPERS.replace("+= ", "= ")), []),
    "the imported file goes": (lambda folder: (folder / "helpers.py").unlink(), []),
    "another file": (lambda folder: (folder / "other.py").write_text(MAIN), ["main.py:7", "other.py:7"]),
    "a package shadows the imported file": (
        lambda folder: (
            (folder / "helpers").mkdir(),
            (folder / "helpers" / "__init__.py").write_text("def shift(h):\n    return h + 1\n"),
        ),
        [],
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_change_counts(edit: str, project: Path) -> None:
    change, found = EDITS[edit]
    change(project)
    assert lines(check(project)) == found
    assert lines(check(project)) == found


def test_files_beside_a_linted_file_in_a_hidden_folder_count(tmp_path: Path) -> None:
    (tmp_path / "setup.cfg").write_text("")
    (tmp_path / "net.py").write_text("import torch\n")
    hidden = tmp_path / ".ci"
    hidden.mkdir()
    (hidden / "helpers.py").write_text(HELPERS.replace("+= ", "= "))
    (hidden / "main.py").write_text(MAIN)
    assert lines(check(tmp_path, ".ci/helpers.py", ".ci/main.py")) == []
    (hidden / "helpers.py").write_text(HELPERS)
    assert lines(check(tmp_path, ".ci/helpers.py", ".ci/main.py")) == [".ci/main.py:7"]


def test_options_count(project: Path) -> None:
    assert lines(check(project, "--inplace-follow=off")) == []
    assert lines(check(project)) == ["main.py:7"]
    own = project / "own.json"
    row = "helpers.shift|h:T|||fresh"
    own.write_text(json.dumps({"format": 1, "rows": [row], "names": {"helpers.shift": [0]}}))
    assert lines(check(project, "--inplace-ops=own.json")) == []
    assert lines(check(project)) == ["main.py:7"]


def test_a_new_version_counts(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache._tool()
    monkeypatch.setattr(cache, "__version__", "other")
    assert cache._tool() != before


def test_the_files_of_the_package_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache.py").write_text("")
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "cache.py"))
    before = cache._tool()
    (tmp_path / "cache.py").write_text("changed")
    assert cache._tool() != before


@pytest.mark.parametrize(
    "text", ["", "{", "null", "[]", "[" * 10_000, '{"text": 1}', '{"text": "KEY"}', '{"text": "KEY", "findings": [[]]}']
)
def test_what_is_no_result_is_ignored(text: str, project: Path) -> None:
    for entry in entries(project):
        entry.write_text(text.replace("KEY", json.loads(entry.read_text())["text"]))
    assert lines(check(project)) == ["main.py:7"]


def test_bytes_that_are_no_text_are_ignored(project: Path) -> None:
    for entry in entries(project):
        entry.write_bytes(b"\xff\x00")
    assert lines(check(project)) == ["main.py:7"]


def test_a_folder_that_cannot_be_made_is_no_cache(project: Path) -> None:
    shutil.rmtree(project / cache.FOLDER)
    (project / cache.FOLDER).write_text("a file")
    done = check(project)
    assert (lines(done), done.stderr) == (["main.py:7"], "")


def test_what_cannot_be_read_whole_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "deep.py").write_text(HAZARD + f"\n\ndef deep(w):\n    w = {'-' * 20_000}w\n    w += 1\n")
    check(tmp_path)
    assert entries(tmp_path) == []


def test_a_text_that_is_not_on_the_disk_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(HAZARD)
    store, files = cache.Cache(str(tmp_path / "kept")), Project(str(tmp_path))
    path = str(tmp_path / "net.py")
    store.result(HAZARD + "\n", path, "", files, lambda: Program(files).analyze(HAZARD + "\n", None, path))
    assert not (tmp_path / "kept").exists()


def test_no_folder_is_made_where_none_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(HAZARD)
    check(tmp_path, "--no-cache")
    check(tmp_path, "--inplace-cache=off")
    subprocess.run([sys.executable, "-m", "flake8", "."], cwd=tmp_path, env=ENVIRONMENT, timeout=600)
    subprocess.run([sys.executable, "-m", "flake8_inplace", "fix", "."], cwd=tmp_path, env=ENVIRONMENT, timeout=600)
    assert [path.name for path in tmp_path.iterdir()] == ["net.py"]


def test_the_folder_says_what_it_is(project: Path) -> None:
    assert (
        (project / cache.FOLDER / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    )
    assert (project / cache.FOLDER / ".gitignore").read_text() == "*\n"


def test_flake8_keeps_results_where_it_is_told_to(project: Path) -> None:
    (project / "setup.cfg").write_text("[flake8]\nselect = TIP\ninplace-cache = kept\n")
    command = [sys.executable, "-m", "flake8", "-j1", "main.py", "helpers.py"]

    def flake8() -> str:
        return subprocess.run(command, cwd=project, env=ENVIRONMENT, capture_output=True, text=True, timeout=600).stdout

    cold = flake8()
    assert cold.startswith("main.py:7:12: TIP")
    assert len(list((project / "kept").glob("*/*.json"))) == 2
    assert flake8() == cold


def test_only_the_last_states_are_kept(tmp_path: Path) -> None:
    def state(number: int) -> None:
        store = cache.Cache(str(tmp_path / "kept"))
        store.result("", str(tmp_path / "net.py"), str(number), None, Result)
        (newest,) = {path for path in (tmp_path / "kept").iterdir() if path.is_dir()} - seen
        os.utime(newest, (number, number))
        seen.add(newest)

    seen: set[Path] = set()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "of somebody else").mkdir()
    seen.add(tmp_path / "kept" / "of somebody else")
    for number in range(1, cache.STATES + 3):
        state(number)
    left = sorted(path for path in (tmp_path / "kept").iterdir() if path.is_dir())
    assert len(left) == cache.STATES + 1
    assert tmp_path / "kept" / "of somebody else" in left


def test_several_processes_at_once(tmp_path: Path) -> None:
    shutil.copytree(TESTS / "projects", tmp_path / "projects")
    command = [sys.executable, "-m", "flake8_inplace", "check", "--format=json", "--jobs=2"]
    runs: list[Any] = [
        subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    both = [process.communicate(timeout=600) for process in runs]
    assert both[0] == both[1]
    assert both[0] == (check(tmp_path, "--no-cache").stdout.encode(), b"")
    assert not [path for path in tmp_path.rglob("*") if cache.FOLDER in str(path) and path.suffix.strip(".").isdigit()]
