"""Packages with a hazard that lies across files, and the same packages without it: tests/projects/pairs/*.md.

A section is a project: each block is a file, and names its path. Lines that end with `#-` are only in the wrong
program, those with `#+` only in the right one. `main()` of `main.py` raises what `RAISES` says; where that is "silent",
it returns what it computes and what it should. `# HAZARD` is at the line that overwrites, `# SITE` where a report is as
good.

Those of tests/projects/whole/*.md are larger, and right: `main()` checks itself, and nothing is reported.
"""

import ast
import json
import re
from pathlib import Path

import forked
import pytest

FOLDER = Path(__file__).parent / "projects" / "pairs"
BLOCK = re.compile(r"(?ms)^```py (\S+)\n(.*?)^```$")
ROW = re.compile(r"(?:\./)?(.+?):(\d+):\d+: (TIP\d+)")
MARK = re.compile(r"  # (?:HAZARD|SITE)$", re.MULTILINE)


def projects(folder: Path) -> dict[str, dict[str, str]]:
    """The projects of the pages of a folder: the text of each file by its path."""
    return {
        part.split("\n", 1)[0]: dict(BLOCK.findall(part))
        for page in sorted(folder.glob("*.md"))
        for part in page.read_text().split("\n## ")[1:]
    }


PROJECTS = projects(FOLDER)
WHOLE = projects(FOLDER.parent / "whole")

MISSED = {
    "metrics_overwrite": "a write that takes in other tensors may be meant, where the function does not return it",
    "meter_compute": "a total that a meter divides whenever it is asked; it may be meant to change",
    "shared_class_weights": "a constructor that overwrites its argument: what makes an instance is not read for that",
    "ema_of_parameters": "a dictionary of the parameters themselves is mostly there to show what becomes of them",
    "quadruped_target": "one parameter is given the memory of another: they may be tied",
    "fast_weights": "the function returns what it stepped, and may be meant to step the parameters themselves",
    "score_masking": "a function that marks its argument, and returns what it finds in it, may be meant to",
    "shared_positions": "a table that takes in what a layer is given may be a state",
    "target_network": "a shallow copy of a module may be meant to share its weights",
    "bench_registry_reexported": "a package may hand a decorator on to any number of files, and none is read for it",
    "bench_transforms": "the names of the functions come from a file that leads to no write by itself",
    "bench_constant": "a function that scales a constant of another file may keep a state in it",
    "bench_options": "an entry of an object that a function adds to, and returns, may be a total",
}
"""Projects whose hazard is not reported, and why."""

OTHER_PROGRAM = {
    "env_base_state": "what a step returns is copied; what is observed before the first one still shows each state",
    "ema_shadow": "the shadow gets a tensor of its own with the first update, after the step that has changed it",
}
"""Projects whose fix makes another program than the one that was meant, and why."""

FIX = "from flake8_inplace.cli import main; main(['fix', '--unsafe-fixes', '--isolated', '--jobs', '1', '.'])"
COMPUTED = """
import json
import sys
import torch
seen, backward = [], torch.Tensor.backward

def watched(self, *args, **options):
    leaves, todo, known = [], [self.grad_fn], set()
    while todo:
        node = todo.pop()
        if node is not None and node not in known:
            known.add(node)
            leaves += [node.variable] if hasattr(node, "variable") else []
            todo += [other for other, _ in node.next_functions]
    backward(self, *args, **options)
    grads = sorted(leaf.grad.sum().item() for leaf in leaves if leaf.grad is not None)
    seen.append([self.sum().item(), *grads])

torch.Tensor.backward = watched
import main
result = main.main()
if main.RAISES == "silent":
    seen.append([torch.as_tensor(result[0]).double().sum().item()])
print("computed", json.dumps(seen), file=sys.stderr)
"""
"""Prints each loss with the sums of the gradients, and the result."""

RUN = """
import sys
import torch
import main
good = sys.argv[1] == "good"
try:
    result = main.main()
except RuntimeError as error:
    assert not good and main.RAISES in str(error), error
else:
    assert good or main.RAISES == "silent", "nothing is raised"
    if main.RAISES == "silent":
        actual, expected = (torch.as_tensor(each).double() for each in result)
        assert torch.allclose(actual, expected) is good, result
"""


def lint(folder: Path, path: str = ".") -> str:
    return forked.lint(folder, "--isolated", "--select=TIP", path)


def write(folder: Path, name: str, good: bool) -> None:
    """Write the files of one of the two programs."""
    for path, text in PROJECTS[name].items():
        kept = [line for line in text.splitlines() if not line.endswith(" #-" if good else " #+")]
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(re.sub(r" #[-+]$", "", line) + "\n" for line in kept))


def marked(path: Path, line: int) -> bool:
    """Whether the statement of a line carries a mark."""
    text = path.read_text()
    spans = [
        (node.lineno, max(node.lineno, node.body[0].lineno - 1) if hasattr(node, "body") else node.end_lineno or 0)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.stmt)
    ]
    first, last = min((span for span in spans if span[0] <= line <= span[1]), key=lambda span: span[1] - span[0])
    return bool(MARK.search("\n".join(text.splitlines()[first - 1 : last])))


@pytest.mark.parametrize("good", [False, True], ids=["bad", "good"])
@pytest.mark.parametrize("name", PROJECTS)
def test_what_torch_says(tmp_path: Path, name: str, good: bool) -> None:
    write(tmp_path, name, good)
    code, said = forked.run(tmp_path, RUN, "good" if good else "bad")
    assert code == 0, said


@pytest.mark.parametrize("name", PROJECTS)
def test_the_linter_agrees(tmp_path: Path, name: str) -> None:
    for good in (False, True):
        write(tmp_path / str(good), name, good)
    rows = list(map(ROW.match, lint(tmp_path / "False").splitlines()))
    right = [marked(tmp_path / "False" / row[1], int(row[2])) for row in rows if row]
    assert any(right) != (name in MISSED)
    assert all(right)
    assert lint(tmp_path / "True") == ""


def computed(folder: Path) -> list[list[float]]:
    """What a program computes. Raises AssertionError where it raises something."""
    code, said = forked.run(folder, COMPUTED)
    assert code == 0, said
    found: list[list[float]] = json.loads(said.rpartition("computed ")[2])
    return found


@pytest.mark.parametrize("name", [name for name in PROJECTS if name not in MISSED])
def test_a_fixed_project_computes_what_was_meant(tmp_path: Path, name: str) -> None:
    """Or nothing is fixed."""
    write(tmp_path / "good", name, True)
    write(tmp_path / "fixed", name, False)
    files = sorted((tmp_path / "fixed").rglob("*.py"))
    before = [file.read_text() for file in files]
    code, said = forked.run(tmp_path / "fixed", FIX)
    assert code == 0 and "Traceback" not in said, said
    if [file.read_text() for file in files] == before:
        assert "0 fixes made" in said
        assert name not in OTHER_PROGRAM
        return
    meant, found = computed(tmp_path / "good"), computed(tmp_path / "fixed")
    same = [len(row) for row in found] == [len(row) for row in meant] and all(
        row == pytest.approx(other, rel=1e-4, abs=1e-5, nan_ok=True) for row, other in zip(found, meant, strict=True)
    )
    assert same is (name not in OTHER_PROGRAM), (found, meant)


@pytest.mark.parametrize("name", ["limited_twice", "hooks_tide_gauge"])
def test_each_file_alone_says_the_same(tmp_path: Path, name: str) -> None:
    """What others make of a function counts, whichever files are linted."""
    write(tmp_path, name, False)
    paths = [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*.py"))]
    alone = [row for path in paths for row in lint(tmp_path, path).splitlines()]
    assert alone and sorted(alone) == sorted(row.removeprefix("./") for row in lint(tmp_path).splitlines())


@pytest.mark.parametrize("name", WHOLE)
def test_a_package_without_a_hazard(tmp_path: Path, name: str) -> None:
    for path, text in WHOLE[name].items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    code, said = forked.run(tmp_path, "import main; main.main()")
    assert code == 0, said
    assert lint(tmp_path) == ""
