"""Packages with a hazard that lies across files, and the same packages without it: tests/projects/pairs/*.md.

A section is a project: each block is a file, and names its path. Lines that end with `#-` are only in the wrong
program, those with `#+` only in the right one. `main()` of `main.py` raises what `RAISES` says; where that is "silent",
it returns what it computes and what it should. `# HAZARD` is at the line that overwrites, `# SITE` where a report is as
good.
"""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "projects" / "pairs"
BLOCK = re.compile(r"(?ms)^```py (\S+)\n(.*?)^```$")
ROW = re.compile(r"(?:\./)?(.+?):(\d+):\d+: (TIP\d+)")
MARK = re.compile(r"  # (?:HAZARD|SITE)$", re.MULTILINE)
PROJECTS = {
    part.split("\n", 1)[0]: dict(BLOCK.findall(part))
    for page in sorted(FOLDER.glob("*.md"))
    for part in page.read_text().split("\n## ")[1:]
}

MISSED = {
    "hydra_ice_cores": "a class that a string of a config names is unknown",
    "metrics_overwrite": "an argument that is an evaluated prediction of an unknown model",
    "collate_scales": "a collate function that overwrites what the dataset holds",
    "federated_sum": "states of clients, one of which becomes the sum",
    "target_copy": "a shallow copy of a module that another function makes",
}
"""Projects whose hazard is not reported, and why."""

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


def write(folder: Path, name: str, good: bool) -> None:
    """Write the files of one of the two programs."""
    for path, text in PROJECTS[name].items():
        kept = [line for line in text.splitlines() if not line.endswith(" #-" if good else " #+")]
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(re.sub(r" #[-+]$", "", line) + "\n" for line in kept))


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, "-B", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


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
    done = run(tmp_path, "-c", RUN, "good" if good else "bad")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", PROJECTS)
def test_the_linter_agrees(tmp_path: Path, name: str) -> None:
    for good in (False, True):
        write(tmp_path / str(good), name, good)
    lint = ("-m", "flake8", "--isolated", "--select=TIP", ".")
    rows = list(map(ROW.match, run(tmp_path / "False", *lint).stdout.splitlines()))
    right = [marked(tmp_path / "False" / row[1], int(row[2])) for row in rows if row]
    assert any(right) != (name in MISSED)
    assert all(right)
    assert run(tmp_path / "True", *lint).stdout == ""
