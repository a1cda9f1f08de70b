"""The linter where people meet it, by way of the real tools. Each test is skipped where its tool is not installed."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
NEEDS_COMMAND = pytest.mark.skipif(
    not any(entry.name == "flake8-inplace" for entry in metadata.entry_points(group="console_scripts")),
    reason="flake8-inplace is not installed with its command",
)

HAZARD = """\
import torch


def gate(w: torch.nn.Parameter):
    h = torch.sigmoid(w)
    h += 1
    return h
"""
FIXED = HAZARD.replace("h += 1", "h = h + 1")


def needs(module: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"{module} is not installed")


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **environment}
    return subprocess.run([*map(str, command)], cwd=cwd, env=variables, capture_output=True, text=True, timeout=280)


# pre-commit


@needs("pre_commit")
@NEEDS_COMMAND
def test_pre_commit(tmp_path: Path) -> None:
    """Our hooks in a repository of their own. Only the language differs: `system` takes what is installed here."""
    hooks, project = tmp_path / "hooks", tmp_path / "project"
    for folder in (hooks, project):
        folder.mkdir()
        git(folder, "init", "-q")
    text = (ROOT / ".pre-commit-hooks.yaml").read_text()
    (hooks / ".pre-commit-hooks.yaml").write_text(text.replace("language: python", "language: system"))
    git(hooks, "add", ".")
    git(hooks, "commit", "-qm", "hooks")
    revision = git(hooks, "rev-parse", "HEAD").strip()
    configuration = f"repos:\n- repo: {hooks}\n  rev: {revision}\n  hooks:\n"
    (project / "net.py").write_text(HAZARD)
    (project / "notes.txt").write_text("h += 1\n")

    def hook(name: str) -> subprocess.CompletedProcess[str]:
        (project / ".pre-commit-config.yaml").write_text(f"{configuration}  - id: {name}\n")
        git(project, "add", ".")
        command = (sys.executable, "-m", "pre_commit", "run", "--all-files", "--color=never")
        return run(*command, cwd=project, PRE_COMMIT_HOME=str(tmp_path / "home"))

    checked = hook("flake8-inplace")
    assert checked.returncode == 1, checked.stdout + checked.stderr
    assert "net.py:6:7: TIP103" in checked.stdout
    fixed = hook("flake8-inplace-fix")
    assert "files were modified by this hook" in fixed.stdout, fixed.stdout + fixed.stderr
    assert (project / "net.py").read_text() == FIXED
    assert hook("flake8-inplace").returncode == hook("flake8-inplace-fix").returncode == 0


def git(folder: Path, *arguments: str) -> str:
    person = ("-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false")
    done = run("git", *person, *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


# python-lsp-server


@needs("pylsp")
def test_python_lsp_server(tmp_path: Path) -> None:
    """Over stdio, as an editor does it: open a document, wait for its diagnostics."""
    path = tmp_path / "net.py"
    path.write_text(HAZARD)
    plugins = {"flake8": {"enabled": True, "executable": str(BIN / "flake8")}}
    plugins |= {name: {"enabled": False} for name in ("pycodestyle", "pyflakes", "mccabe")}
    with server(tmp_path) as (send, receive):
        send("initialize", {"processId": os.getpid(), "rootUri": tmp_path.as_uri(), "capabilities": {}}, number=1)
        receive(lambda message: message.get("id") == 1)
        send("initialized", {})
        send("workspace/didChangeConfiguration", {"settings": {"pylsp": {"plugins": plugins}}})
        document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": HAZARD}
        send("textDocument/didOpen", {"textDocument": document})
        told = receive(lambda message: bool(message.get("params", {}).get("diagnostics")))
    [found] = told["params"]["diagnostics"]
    assert found["source"] == "flake8"
    assert found["code"] == "TIP103"
    assert found["range"]["start"] == {"line": 5, "character": 6}
    assert "sigmoid's saved" in found["message"]


@contextmanager
def server(folder: Path) -> Iterator[tuple[Any, Any]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "pylsp"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    def send(method: str, parameters: dict[str, Any], number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": parameters}
        body = json.dumps(message if number is None else {**message, "id": number}).encode()
        stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        stdin.flush()

    def receive(wanted: Any) -> Any:
        while True:
            length = 0
            while line := stdout.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            assert length, "the server has ended"
            message = json.loads(stdout.read(length))
            if wanted(message):
                return message

    try:
        yield send, receive
    finally:
        process.kill()
        process.wait()
        stdin.close()
        stdout.close()


# VS Code


def test_vs_code() -> None:
    """The line that the Flake8 extension (ms-python.flake8) calls with, and how it reads what comes back."""
    form = "--format=%(row)d,%(col)d,%(code).1s,%(code)s:%(text)s"
    command = [sys.executable, "-m", "flake8", form, "--stdin-display-name", "/work/net.py", "-"]
    done = subprocess.run(command, input=HAZARD, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    pattern = r"(?P<line>\d+),(?P<column>-?\d+),(?P<type>\w+),(?P<code>\w+\d+):(?P<message>[^\r\n]*)"
    [found] = [match.groupdict() for match in re.finditer(pattern, done.stdout)]
    assert (found["line"], found["column"], found["type"], found["code"]) == ("6", "7", "T", "TIP103")
    assert "sigmoid's saved" in found["message"]


# nbQA


@needs("nbqa")
def test_nbqa(tmp_path: Path) -> None:
    cells = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": str(number),
            "metadata": {},
            "outputs": [],
            "source": source,
        }
        for number, source in enumerate(["import torch", HAZARD.partition("\n\n\n")[2]])
    ]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    done = run(sys.executable, "-m", "nbqa", "flake8", "n.ipynb", "--select=TIP", cwd=tmp_path)
    assert done.stdout.startswith("n.ipynb:cell_2:3:7: TIP103 "), done.stdout + done.stderr


# GitHub


def test_github_problem_matcher(tmp_path: Path) -> None:
    """Its expression reads what flake8 and our own command print, and no line of an excerpt."""
    [matcher] = json.loads((ROOT / "flake8_inplace" / "problem-matcher.json").read_text())["problemMatcher"]
    [pattern] = matcher["pattern"]
    (tmp_path / "net.py").write_text(HAZARD)
    for command in (("-m", "flake8"), ("-m", "flake8_inplace", "check")):
        done = run(sys.executable, *command, "net.py", cwd=tmp_path, PYTHONPATH=str(ROOT))
        found = [match for line in done.stdout.splitlines() if (match := re.search(pattern["regexp"], line))]
        assert [match[pattern["file"]] for match in found] == ["net.py"]
        [match] = found
        assert (match[pattern["line"]], match[pattern["column"]], match[pattern["code"]]) == ("6", "7", "TIP103")


def test_workflow_and_hooks_parse() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    commands = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    assert any(command == ".ci/run" for command in commands)
    for command in commands:
        for path in re.findall(r"(?:^(?=\.)|::add-matcher::)([\w./-]+)", command):
            assert (ROOT / path).exists(), path
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["entry"].split()[:2] for hook in hooks] == [["flake8-inplace", "check"], ["flake8-inplace", "fix"]]


# ruff


@pytest.mark.skipif(shutil.which("ruff", path=str(BIN)) is None, reason="ruff is not installed")
@pytest.mark.parametrize("external", [True, False])
def test_ruff_leaves_our_comments(tmp_path: Path, external: bool) -> None:
    """With the snippet of the README. Without it ruff deletes them, which is why the snippet is there."""
    silenced = HAZARD.replace("+= 1", "+= 1  # noqa: TIP103")
    (tmp_path / "net.py").write_text(silenced)
    snippet = '[tool.ruff]\nlint.external = ["TIP"]\n' if external else ""
    (tmp_path / "pyproject.toml").write_text(snippet)
    run(BIN / "ruff", "check", "--select=RUF", "--fix", "net.py", cwd=tmp_path)
    assert ((tmp_path / "net.py").read_text() == silenced) is external
