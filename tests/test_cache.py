"""What is kept for the next run: a warm run prints what a cold one does, whatever has happened between."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flake8_inplace import cache
from flake8_inplace.cache import TAG, Cache
from flake8_inplace.files import CACHE
from flake8_inplace.program.sights import KIND, TEXT, digest

ROOT = Path(__file__).parent.parent
LIBRARY = """\
import torch


def keep(x):
    h = torch.sigmoid(x)
    return h


def shift(h):
    h += 1
    return h
"""
USER = """\
import torch
from lib import keep, shift


def f(w: torch.nn.Parameter):
    h = keep(w)
    shift(h)
    return h
"""
FOUND = "lib.py:10:7: TIP107"
"""What the first file shows where the second one is seen to call it."""


def run(
    folder: Path, *words: str, home: Path = ROOT, python: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(home)}
    command = [sys.executable, *python, "-m", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=300, check=False)
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done


def check(folder: Path, *words: str, home: Path = ROOT) -> bytes:
    """What the command prints, with its status."""
    done = run(folder, "flake8_inplace", "check", *words, home=home)
    return done.stdout + done.stderr + b"status %d" % done.returncode


def flake8(folder: Path, *words: str) -> bytes:
    done = run(folder, "flake8", "--select=TIP", *words)
    return done.stdout + done.stderr


def journals(folder: Path) -> list[Path]:
    return sorted((folder / CACHE).glob("*.jsonl"))


def kept(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in journals(folder)}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "setup.cfg").write_text("[flake8]\n")
    (folder / "lib.py").write_text(LIBRARY)
    (folder / "use.py").write_text(USER)
    return folder


def no_less_than_before(folder: Path, *words: str) -> bytes:
    """What a run prints that may use the cache: the same as one that may not, and the same as the run after it."""
    expected = check(folder, "--no-cache", *words)
    assert check(folder, *words) == expected
    before = kept(folder)
    assert check(folder, *words) == expected
    assert kept(folder) == before  # all of it was known
    return expected


# The same, byte for byte


@pytest.mark.parametrize("which", ["cases", "projects"])
def test_a_warm_run_prints_what_a_cold_one_does(tmp_path: Path, which: str) -> None:
    tree = tmp_path / which
    shutil.copytree(ROOT / "tests" / which, tree, ignore=shutil.ignore_patterns("__pycache__"))
    words = ("--format=json", "--enable-extensions=TIP5,TIP9", ".")
    expected = check(tree, "--no-cache", *words)
    assert expected.count(b'"fingerprint"') > 50
    assert not (tree / CACHE).exists()
    assert check(tree, "--jobs=2", *words) == expected
    before = kept(tree)
    assert before
    assert check(tree, "--jobs=2", *words) == expected
    assert check(tree, "--jobs=1", *words) == expected
    assert kept(tree) == before


@pytest.mark.parametrize("form", ["text", "sarif", "github", "gitlab"])
def test_every_format(project: Path, form: str) -> None:
    assert FOUND.split(":")[0].encode() in no_less_than_before(project, f"--format={form}")


def test_a_hit_loads_no_libcst_and_parses_nothing(project: Path) -> None:
    def loaded(*words: str) -> bytes:
        return run(project, "flake8_inplace", "check", *words, python=("-X", "importtime")).stderr

    assert b"libcst" in loaded()
    assert b"libcst" not in loaded()
    assert b"libcst" in loaded("--no-cache")


def test_flake8_keeps_results_where_it_is_told_to(project: Path, tmp_path: Path) -> None:
    expected = flake8(project)
    assert FOUND.encode() in expected
    assert sorted(path.name for path in project.iterdir()) == ["lib.py", "setup.cfg", "use.py"]
    folder = tmp_path / "kept"
    for _ in range(2):
        assert flake8(project, f"--inplace-cache={folder}") == expected
        held = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert TAG in held
    (project / "setup.cfg").write_text(f"[flake8]\ninplace-cache = {folder}\n")
    assert flake8(project, "-j1") == expected
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == held


def test_no_cache(project: Path) -> None:
    (project / "setup.cfg").write_text("[flake8]\ninplace-cache = own\n")
    assert FOUND.encode() in check(project, "--no-cache")
    assert sorted(path.name for path in project.iterdir()) == ["lib.py", "setup.cfg", "use.py"]
    check(project)
    assert (project / "own" / TAG).read_text().startswith(cache.SIGNATURE)
    assert not (project / CACHE).exists()


# What changes between two runs


def write(name: str, text: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)

    return change


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def moved(folder: Path) -> None:
    (folder / "use.py").rename(folder / "uses.py")


SAFE = LIBRARY.replace("h += 1", "h = h + 1")
CHANGES = {
    "the file itself": write("lib.py", SAFE),
    "the file that imports it": write("use.py", USER.replace("shift(h)", "shift(h.clone())")),
    "the file that imports it is deleted": remove("use.py"),
    "the file that imports it imports another one": write("use.py", USER.replace("from lib", "from library")),
    "a package that shadows it": write("lib/__init__.py", SAFE),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("path", [".", "lib.py"])
def test_a_change_is_seen(project: Path, name: str, path: str) -> None:
    assert FOUND.encode() in no_less_than_before(project, path)
    CHANGES[name](project)
    assert FOUND.encode() not in no_less_than_before(project, path)


@pytest.mark.parametrize("text", [SAFE, LIBRARY])
def test_a_file_that_was_looked_for_appears(project: Path, text: str) -> None:
    """In the file that imports it: what was not found is a part of what was seen."""
    (project / "use.py").write_text(
        USER.replace("from lib import keep, shift", "from act import shift\n\nkeep = torch.exp")
    )
    assert b"TIP" not in no_less_than_before(project, "use.py")
    (project / "act.py").write_text(text)
    assert (b"TIP107" in no_less_than_before(project)) == (text == LIBRARY)


def test_a_new_importer_is_seen(project: Path) -> None:
    (project / "use.py").rename(project / "kept.txt")
    assert FOUND.encode() not in no_less_than_before(project, "lib.py")
    (project / "kept.txt").rename(project / "use.py")
    assert FOUND.encode() in no_less_than_before(project, "lib.py")


def test_what_comes_back_is_found_again(project: Path) -> None:
    before = no_less_than_before(project)
    (project / "lib.py").write_text(SAFE)
    assert no_less_than_before(project) != before
    (project / "lib.py").write_text(LIBRARY)
    assert no_less_than_before(project) == before


def test_a_fresh_checkout_still_hits(project: Path) -> None:
    expected = no_less_than_before(project)
    before = kept(project)
    for path in project.glob("*.py"):
        os.utime(path, (1, 1))
    assert check(project) == expected
    assert kept(project) == before


def test_every_file_of_a_package_in_turn(tmp_path: Path) -> None:
    """Changed, then deleted: each time a run with a cache finds what one without finds."""
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "tests" / "projects" / "prenorm_blocks", tree, ignore=shutil.ignore_patterns("__pycache__"))
    said = {no_less_than_before(tree)}
    for path in sorted(tree.rglob("*.py")):
        text = path.read_text()
        path.write_text(re.sub(r"(\w+) \+= ", r"\1 = \1 + ", text) + "\n")
        said.add(no_less_than_before(tree))
        path.unlink()
        said.add(no_less_than_before(tree))
        path.write_text(text)
    assert len(said) > 2


OPTIONS = {
    "families": ("--enable-extensions=TIP9",),
    "follow": ("--inplace-follow=off",),
    "report": ("--inplace-report=certain",),
    "frameworks": ("--inplace-frameworks=jax",),
    "release": ("--inplace-torch=2.4",),
    "ops": ("--inplace-ops=own.json",),
}


def test_options(project: Path) -> None:
    (project / "own.py").write_text(
        "import own\nimport torch\n\n\ndef f(w: torch.nn.Parameter):\n    h = own.gate(w)\n    h += 1\n    return h\n"
    )
    row = "gate|x:T|result<x||fresh"
    (project / "own.json").write_text(json.dumps({"format": 1, "rows": [row], "names": {"own.gate": [0]}}))
    said = {name: no_less_than_before(project, *words) for name, words in OPTIONS.items()}
    assert b"own.py:7" in said["ops"]
    assert b"own.py:7" not in said["release"]
    assert said["families"] != said["follow"] != said["frameworks"]
    (project / "own.json").write_text(
        json.dumps({"format": 1, "rows": [row.replace("result", "x")], "names": {"own.gate": [0]}})
    )
    assert b"own.py:7" not in no_less_than_before(project, *OPTIONS["ops"])


def test_another_version_of_the_linter_finds_anew(project: Path, tmp_path: Path) -> None:
    """A checkout under development, too, whose version stays."""
    home = tmp_path / "home"
    shutil.copytree(ROOT / "flake8_inplace", home / "flake8_inplace", ignore=shutil.ignore_patterns("__pycache__"))
    check(project, home=home)
    before = kept(project)
    check(project, home=home)
    assert kept(project) == before
    path = home / "flake8_inplace" / "sentences.py"
    path.write_text(path.read_text().replace("backward raises", "backward breaks"))
    assert b"backward breaks" in check(project, home=home)
    assert b"backward raises" in check(project)
    assert before.keys() < kept(project).keys()


# What stands in the folder


def signed(entry: object) -> bytes:
    data = json.dumps(entry).encode()
    return digest(data).encode() + data + b"\n"


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "without its end": lambda data: data[:-1],
    "a bit": lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
    "binary": lambda data: bytes(range(256)) * 9,
    "no json": lambda data: digest(b"{").encode() + b"{\n",
    "a list": lambda data: signed([1, 2]),
    "other questions": lambda data: signed({"saw": [["weather", "/", 1]], "question": "q", "answer": 1}),
    "other sights": lambda data: signed({"saw": 7, "question": "q", "answer": 1}),
    "deep": lambda data: digest(b"[" * 99_999).encode() + b"[" * 99_999 + b"\n",
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_journal_is_passed_over(project: Path, how: str) -> None:
    expected = check(project)
    for path in journals(project):
        path.write_bytes(DAMAGE[how](path.read_bytes()))
    assert check(project) == expected
    assert check(project) == expected


@pytest.mark.parametrize("answer", [7, [], {"findings": [[1]]}, {"findings": 3, "reveals": [], "readings": []}])
def test_a_foreign_answer_is_passed_over(project: Path, answer: object) -> None:
    expected = check(project)
    for path in journals(project):
        lines = [json.loads(line[32:]) for line in path.read_bytes().splitlines()]
        path.write_bytes(b"".join(signed({**line, "answer": answer}) for line in lines))
    assert check(project) == expected


def test_a_folder_of_somebody_else_is_left_alone(project: Path) -> None:
    expected = check(project, "--no-cache")
    (project / CACHE).mkdir()
    (project / CACHE / "letter.txt").write_text("mine")
    assert check(project) == expected
    assert [path.name for path in (project / CACHE).iterdir()] == ["letter.txt"]
    done = run(project, "flake8", f"--inplace-cache={CACHE}")
    assert done.returncode == 1
    assert b"inplace-cache: .flake8_inplace_cache is no cache, and not empty" in done.stdout + done.stderr


def test_a_folder_that_cannot_be_made(project: Path) -> None:
    expected = check(project, "--no-cache")
    (project / CACHE).write_text("a file")
    assert check(project) == expected
    assert (project / CACHE).read_text() == "a file"


def test_a_folder_in_place_of_a_journal(project: Path) -> None:
    expected = check(project)
    for path in journals(project):
        path.unlink()
        path.mkdir()
    assert check(project) == expected


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that not even root can write to")
def test_a_folder_that_cannot_be_written_to(project: Path) -> None:
    expected = check(project, "--no-cache")
    assert check(project, "--inplace-cache=/proc/self/kept") == expected


def test_two_processes_at_once(project: Path) -> None:
    expected = check(project, "--no-cache")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "flake8_inplace", "check"]
    both = [subprocess.Popen(command, cwd=project, env=environment, stdout=subprocess.PIPE) for _ in range(2)]
    assert [process.communicate()[0] + b"status %d" % process.returncode for process in both] == [expected] * 2
    assert [path.name for path in (project / CACHE).iterdir() if path.is_dir()] == []
    before = kept(project)
    assert check(project) == expected
    assert kept(project) == before


# The journals themselves


def test_an_answer_holds_as_long_as_what_was_seen_before_it(tmp_path: Path) -> None:
    folder, one, other = tmp_path / "kept", tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    first = Cache(str(folder), "key")
    first.sights.note(TEXT, str(one), digest("1"))
    first.keep("a", 1)
    first.sights.note(KIND, str(other), 0)
    first.keep("b", 2)

    def known(key: str = "key") -> list[object]:
        fresh = Cache(str(folder), key)
        return [fresh.find("a"), fresh.find("b"), fresh.find("c")]

    assert known() == [1, 2, None]
    assert known("another") == [None, None, None]
    other.write_text("")
    assert known() == [1, None, None]
    other.unlink()
    one.write_text("2")
    assert known() == [None, None, None]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # pytest-xdist has threads
def test_a_fork_writes_a_journal_of_its_own(tmp_path: Path) -> None:
    """It holds what was seen before the fork as well."""
    parent = Cache(str(tmp_path / "kept"), "key")
    parent.sights.note(KIND, str(tmp_path / "absent"), 0)
    parent.keep("a", 1)
    child = os.fork()
    if not child:
        parent.keep("b", 2)
        os._exit(0)
    os.waitpid(child, 0)
    assert len(list((tmp_path / "kept").glob("*.jsonl"))) == 2
    (tmp_path / "absent").touch()
    assert [Cache(str(tmp_path / "kept"), "key").find(question) for question in "ab"] == [None, None]


def test_old_journals_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_JOURNALS", 5)
    folder = tmp_path / "kept"
    for number in range(12):
        Cache(str(folder), f"key {number}").keep("a", number)
    assert len(list(folder.glob("*.jsonl"))) == 5
    for path in folder.glob("*.jsonl"):
        os.utime(path, (time.time() - cache.MAX_AGE - 9,) * 2)
    (folder / "letter.txt").write_text("mine")
    Cache(str(folder), "key").keep("a", 1)
    assert len(list(folder.glob("*.jsonl"))) == 1
    assert (folder / "letter.txt").exists()


def test_journals_without_use_go(project: Path) -> None:
    """Each change of the file makes one, and the one before holds nothing any more."""
    for number in range(4):
        (project / "use.py").write_text(f"{USER}\n\nN = {number}\n")
        for path in journals(project):
            os.utime(path, (time.time() - cache.FRESH - 9,) * 2)
        check(project)
    assert len(journals(project)) == 1
