"""`flake8-inplace` as people run it, in processes of its own, and what each of its formats holds."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flake8_inplace.cli import COMMANDS, USAGE_ERROR, main
from flake8_inplace.commands import workers
from flake8_inplace.formats import FORMATS
from flake8_inplace.report import fingerprint
from flake8_inplace.rules import RULES

ROOT = Path(__file__).parent.parent
SCHEMA = Path(__file__).parent / "data" / "sarif-2.1.0-rtm.5.json"

HAZARD = """\
import torch


def gate(w: torch.nn.Parameter):
    h = torch.sigmoid(w)
    h += 1
    return h
"""
FOUND = ["net.py:6:7 TIP103"]
CLEAN = HAZARD.replace("h += 1", "h = h + 1")
#: The same finding, under another name and between other lines.
MOVED = HAZARD.replace("import torch\n", "import torch\n\nN = 3\n\n\n# more\n")


def run(*arguments: str, cwd: Path, stdin: str | None = None, status: int | None = None) -> Any:
    command = [sys.executable, "-m", "flake8_inplace", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        command, cwd=cwd, input=stdin, env=environment, capture_output=True, text=True, timeout=120, encoding="utf-8"
    )
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    if status is not None:
        assert done.returncode == status, done.stderr
    return done


def rows(done: Any) -> list[str]:
    found = re.findall(r"^(\S+?:(?:cell_\d+:)?\d+:\d+): (TIP\d+) ", done.stdout, re.MULTILINE)
    return [" ".join(row) for row in found]


def project(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def notebook(path: Path, *cells: str | tuple[str, str]) -> None:
    made = []
    for cell in cells:
        kind, text = cell if isinstance(cell, tuple) else ("code", cell)
        made.append({"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)})
    path.write_text(json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


# check: the same findings as the plugin


@pytest.mark.parametrize("path", ["docs/examples", "tests/cases"])
def test_the_findings_of_the_plugin(path: str) -> None:
    plugin = subprocess.run(
        [sys.executable, "-m", "flake8", "--isolated", "--select=TIP", path],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert plugin.stdout
    done = run("check", "--isolated", "--format=json", path, cwd=ROOT, status=1)
    found = json.loads(done.stdout)["findings"]
    texts = ["; ".join(filter(None, (f["message"], f["help"]))) for f in found]
    lines = [f"{f['path']}:{f['line']}:{f['column']}: {f['code']} {text}" for f, text in zip(found, texts, strict=True)]
    assert sorted(lines) == sorted(plugin.stdout.splitlines())


def test_file_and_folder(tmp_path: Path) -> None:
    project(tmp_path, net=HAZARD, other=CLEAN)
    assert rows(run("check", "net.py", cwd=tmp_path, status=1)) == FOUND
    assert rows(run("check", cwd=tmp_path, status=1)) == FOUND
    assert rows(run("check", "other.py", cwd=tmp_path, status=0)) == []


def test_stdin(tmp_path: Path) -> None:
    assert rows(run("check", "-", cwd=tmp_path, stdin=HAZARD, status=1)) == ["stdin:6:7 TIP103"]
    named = run("check", "--stdin-display-name=net.py", "-", cwd=tmp_path, stdin=HAZARD, status=1)
    assert rows(named) == FOUND


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_jobs(tmp_path: Path, jobs: str) -> None:
    project(tmp_path, **{f"net{number}": HAZARD for number in range(10)})
    found = rows(run("check", "--jobs", jobs, ".", cwd=tmp_path, status=1))
    assert found == [f"net{number}.py:6:7 TIP103" for number in range(10)]


@pytest.mark.parametrize(
    ("option", "status"),
    [
        ("--select=TIP", 1),
        ("--select=E", 0),
        ("--extend-ignore=TIP1", 0),
        ("--per-file-ignores=net.py:TIP103", 0),
        ("--per-file-ignores=other.py:TIP103", 1),
        ("--exclude=net.py", 0),
        ("--isolated", 1),
    ],
)
def test_options_of_flake8(tmp_path: Path, option: str, status: int) -> None:
    run("check", option, "net.py", cwd=project(tmp_path, net=HAZARD), status=status)


@pytest.mark.parametrize("name", [".flake8", "setup.cfg", "tox.ini"])
def test_configuration_of_flake8(tmp_path: Path, name: str) -> None:
    project(tmp_path, net=HAZARD)
    (tmp_path / name).write_text("[flake8]\nextend-ignore = TIP103\n")
    run("check", cwd=tmp_path, status=0)
    run("check", "--isolated", cwd=tmp_path, status=1)


@pytest.mark.parametrize("comment", ["# noqa", "# noqa: TIP103", "# noqa: TIP"])
def test_noqa(tmp_path: Path, comment: str) -> None:
    project(tmp_path, net=HAZARD.replace("+= 1", f"+= 1  {comment}"))
    run("check", cwd=tmp_path, status=0)
    run("check", "--disable-noqa", cwd=tmp_path, status=1)


def test_noqa_of_a_file(tmp_path: Path) -> None:
    run("check", cwd=project(tmp_path, net=f"# flake8: noqa\n{HAZARD}"), status=0)


# check: what goes wrong


def test_trouble_with_a_file_is_one_line_and_the_run_goes_on(tmp_path: Path) -> None:
    project(tmp_path, a="def (:\n", net=HAZARD)
    (tmp_path / "b.ipynb").write_text("{}")
    done = run("check", "a.py", "b.ipynb", "missing.py", "net.py", cwd=tmp_path, status=2)
    assert rows(done) == ["a.py:1:5 TIP000", *FOUND]
    assert done.stderr.splitlines() == [
        "flake8-inplace: b.ipynb: not a notebook of version 4",
        "flake8-inplace: missing.py: No such file or directory",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--format=xml"],
        ["check", "--jobs=0"],
        ["check", "--write-baseline"],
        ["check", "--baseline=missing.json"],
        ["check", "--config=missing.cfg"],
        ["check", "--output-file=net.py/report"],
        ["check", "--output-file=."],
        ["check", "--baseline=net.py/known.json", "--write-baseline"],
        ["check", "--baseline=."],
        ["check", "--jobs=many"],
        ["check", "--watch", "missing.py"],
        ["fix", "--config=missing.cfg"],
        ["fix", "--nonsense"],
        ["check", "--extend-ignore=nonsense"],
        ["explain"],
        ["explain", "TIP999"],
        ["nonsense"],
    ],
    ids=" ".join,
)
def test_usage_errors(tmp_path: Path, arguments: list[str]) -> None:
    project(tmp_path, net=CLEAN)
    if arguments == ["check", "--extend-ignore=nonsense"]:
        (tmp_path / ".flake8").write_text("[flake8]\nextend-ignore = nonsense\n")
        arguments = ["check"]
    done = run(*arguments, cwd=tmp_path, status=2)
    assert len([line for line in done.stderr.splitlines() if line.startswith("flake8-inplace")]) == 1
    assert done.stdout == ""


def test_the_command_alone_lists_its_commands(tmp_path: Path) -> None:
    done = run(cwd=tmp_path, status=2)
    assert done.stderr.startswith("usage: flake8-inplace") and "lint files, notebooks or standard input" in done.stderr
    assert done.stdout == ""


# check: formats


def documents(tmp_path: Path, form: str, *more: str) -> str:
    project(tmp_path, net=HAZARD, clean=CLEAN)
    return str(run("check", f"--format={form}", *more, "net.py", "clean.py", cwd=tmp_path, status=1).stdout)


def test_text(tmp_path: Path) -> None:
    assert documents(tmp_path, "text") == (
        "net.py:6:7: TIP103 `h += 1` overwrites sigmoid's saved result (line 5): backward raises\n"
        "5 |     h = torch.sigmoid(w)\n"
        "  |               ^ saved by sigmoid here\n"
        "6 |     h += 1\n"
        "  |       ^ overwritten here\n"
        "fix (safe): write `h = h + ...`\n"
        "\n"
        "1 finding in 2 files\n"
    )


def test_text_points_at_characters_not_at_bytes(tmp_path: Path) -> None:
    project(tmp_path, net=HAZARD.replace("    h += 1", "\té = '漢'; h += 1").replace("    ", "\t"))
    done = run("check", "net.py", cwd=tmp_path, status=1)
    assert "6 | \té = '漢'; h += 1\n  | \t            ^ overwritten here\n" in done.stdout


def test_colour(tmp_path: Path) -> None:
    coloured = documents(tmp_path, "text", "--color=always")
    assert "\033[" in coloured
    assert re.sub(r"\033\[[\d;]*m", "", coloured) == documents(tmp_path, "text", "--color=auto")


def test_json(tmp_path: Path) -> None:
    [found] = json.loads(documents(tmp_path, "json"))["findings"]
    assert (found["path"], found["code"], found["line"], found["column"]) == ("net.py", "TIP103", 6, 7)
    note = "saved by sigmoid here"
    assert found["related"] == [{"path": "net.py", "line": 5, "column": 15, "end_column": 22, "note": note}]
    assert (found["end_column"], found["help"]) == (9, "write `h = h + ...`")
    assert found["fix"]["safe"] is True
    assert found["fix"]["edits"][0]["text"] == "h = h + 1"


def test_sarif(tmp_path: Path) -> None:
    [run_] = json.loads(documents(tmp_path, "sarif"))["runs"]
    [result] = run_["results"]
    driver = run_["tool"]["driver"]
    assert [rule["id"] for rule in driver["rules"]] == sorted(RULES)
    assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "TIP103"
    assert {rule["id"]: rule["help"]["markdown"] for rule in driver["rules"] if "help" in rule} == {
        "TIP103": RULES["TIP103"].page()
    }
    assert driver["rules"][result["ruleIndex"]]["helpUri"].startswith("https://docs.pytorch.org/docs/stable/")
    assert all("](https://" in rule.page().partition("\n## References\n")[2] for rule in RULES.values())
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "net.py", "uriBaseId": "%SRCROOT%"}
    assert (place["region"]["startLine"], place["region"]["startColumn"]) == (6, 7)
    assert result["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 5
    [replacement] = result["fixes"][0]["artifactChanges"][0]["replacements"]
    assert replacement["insertedContent"] == {"text": "h = h + 1"}
    assert result["partialFingerprints"]


def validated(text: str) -> dict[str, Any]:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    document = json.loads(text)
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    return dict(document)


@pytest.mark.parametrize("path", ["docs/examples", "tests/cases"])
def test_sarif_is_valid(path: str) -> None:
    done = run("check", "--isolated", "--format=sarif", path, cwd=ROOT, status=1)
    [run_] = validated(done.stdout)["runs"]
    assert run_["results"]


def test_sarif_of_nothing_and_of_odd_names_is_valid(tmp_path: Path) -> None:
    project(tmp_path, clean=CLEAN)
    assert validated(run("check", "--format=sarif", cwd=tmp_path, status=0).stdout)["runs"][0]["results"] == []
    (tmp_path / "a b%ü.py").write_text(HAZARD)
    notebook(tmp_path / "n.ipynb", HAZARD)
    document = validated(run("check", "--format=sarif", cwd=tmp_path, status=1).stdout)
    places = [result["locations"][0]["physicalLocation"] for result in document["runs"][0]["results"]]
    assert [place["artifactLocation"]["uri"] for place in places] == ["a%20b%25%C3%BC.py", "n.ipynb"]


def test_github(tmp_path: Path) -> None:
    text = documents(tmp_path, "github")
    assert re.fullmatch(r"::error file=net.py,title=TIP103 saved-tensor-augmented,line=6,col=7::[^\n]+\n", text)
    (tmp_path / "a,b%.py").write_text(HAZARD)
    assert "file=a%2Cb%25.py," in run("check", "--format=github", "a,b%.py", cwd=tmp_path).stdout


def test_gitlab(tmp_path: Path) -> None:
    [row] = json.loads(documents(tmp_path, "gitlab"))
    assert row.keys() == {"description", "check_name", "fingerprint", "severity", "location"}
    assert row["location"] == {"path": "net.py", "lines": {"begin": 6}}
    assert row["severity"] == "major"


@pytest.mark.parametrize("form", FORMATS)
def test_output_file(tmp_path: Path, form: str) -> None:
    """Written over: a second run must not append to the first."""
    expected = documents(tmp_path, form)
    for _ in range(2):
        assert documents(tmp_path, form, "--output-file=reports/out") == ""
        assert (tmp_path / "reports" / "out").read_text() == expected


def test_statistics(tmp_path: Path) -> None:
    project(tmp_path, net=HAZARD, more=HAZARD)
    done = run("check", "--statistics", "--format=json", cwd=tmp_path, status=1)
    assert done.stderr == f"    2 TIP103 {RULES['TIP103'].summary}\n"
    assert len(json.loads(done.stdout)["findings"]) == 2


def test_progress(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Counted on a terminal once a run takes long, and wiped away at its end."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    seconds = iter([0.0, 1.0, 3.0, 4.0])
    monkeypatch.setattr(workers.time, "monotonic", lambda: next(seconds))
    assert list(workers.progress([1, 2, 3], 3)) == [1, 2, 3]
    assert capsys.readouterr().err == "\r2/3 files\r3/3 files\r\033[K"


# Fingerprints and baselines


def fingerprints(folder: Path) -> list[str]:
    done = run("check", "--format=json", cwd=folder)
    return [found["fingerprint"] for found in json.loads(done.stdout)["findings"]]


def test_fingerprints_survive_moved_lines(tmp_path: Path) -> None:
    before = fingerprints(project(tmp_path, net=HAZARD))
    assert fingerprints(project(tmp_path, net=MOVED)) == before
    assert fingerprints(project(tmp_path, net=HAZARD.replace("gate", "door"))) != before
    assert fingerprints(project(tmp_path, net=HAZARD.replace("+= 1", "+= 2"))) != before


def test_fingerprints_are_unique(tmp_path: Path) -> None:
    twice = HAZARD.replace("    h += 1\n", "    h += 1\n    h = torch.sigmoid(h)\n    h += 1\n")
    found = fingerprints(project(tmp_path, net=twice))
    assert len(set(found)) == len(found) == 2
    assert fingerprint("a", "b") != fingerprint("ab", "")


def test_baseline(tmp_path: Path) -> None:
    project(tmp_path, net=HAZARD)
    written = run("check", "--baseline=known.json", "--write-baseline", cwd=tmp_path, status=0)
    assert written.stdout == ""
    project(tmp_path, net=MOVED)
    assert rows(run("check", "--baseline=known.json", cwd=tmp_path, status=0)) == []
    project(tmp_path, more=HAZARD)
    assert rows(run("check", "--baseline=known.json", cwd=tmp_path, status=1)) == ["more.py:6:7 TIP103"]
    project(tmp_path, net=CLEAN, more=CLEAN)
    assert "1 entry no longer matches" in run("check", "--baseline=known.json", cwd=tmp_path, status=0).stderr


@pytest.mark.parametrize("text", ["", "[]", '{"findings": [1]}', "{}"])
def test_broken_baseline(tmp_path: Path, text: str) -> None:
    project(tmp_path, net=HAZARD)
    (tmp_path / "known.json").write_text(text)
    done = run("check", "--baseline=known.json", cwd=tmp_path, status=2)
    assert done.stderr.startswith("flake8-inplace: known.json: not a baseline")


# Notebooks


def test_notebook(tmp_path: Path) -> None:
    notebook(
        tmp_path / "n.ipynb",
        "import torch\nw = torch.ones(3, requires_grad=True)",
        ("markdown", "h += 1"),
        "%matplotlib inline\n!pip install x\nfiles = !ls\n?torch\nh = torch.sigmoid(w)",
        "%%bash\nh += 1",
        "%%time\nh += 1\nh.sum().backward()",
    )
    done = run("check", cwd=tmp_path, status=1)
    assert rows(done) == ["n.ipynb:cell_4:2:3 TIP103"]
    [found] = json.loads(run("check", "--format=json", cwd=tmp_path, status=1).stdout)["findings"]
    assert (found["cell"], found["line"]) == (4, 2)
    [related] = found["related"]
    assert (related["cell"], related["line"], related["column"]) == (2, 5, 11)
    assert found["fix"] is None
    project(tmp_path, net=HAZARD)
    both = json.loads(run("check", "--format=json", cwd=tmp_path, status=1).stdout)["findings"]
    assert [bool(finding["fix"]) for finding in both] == [False, True]
    (tmp_path / "net.py").unlink()
    assert "cell 4, line 2" in run("check", "--format=github", cwd=tmp_path, status=1).stdout


def test_notebook_with_a_broken_cell(tmp_path: Path) -> None:
    notebook(tmp_path / "n.ipynb", "def (:", HAZARD)
    assert rows(run("check", cwd=tmp_path, status=1)) == ["n.ipynb:cell_1:1:1 TIP000", "n.ipynb:cell_2:6:7 TIP103"]


def test_notebook_noqa(tmp_path: Path) -> None:
    notebook(tmp_path / "n.ipynb", HAZARD.replace("+= 1", "+= 1  # noqa: TIP103"))
    run("check", cwd=tmp_path, status=0)


# The formatter for plain flake8


def test_formatter(tmp_path: Path) -> None:
    project(tmp_path, net=f"x = 1 \n{HAZARD}")
    command = [sys.executable, "-m", "flake8", "--format=inplace-sarif", "--output-file=out.sarif", "net.py"]
    listed = subprocess.run(
        [sys.executable, "-m", "flake8", "--help"], capture_output=True, text=True, timeout=60, check=True
    )
    if "inplace-sarif" not in listed.stdout:
        pytest.skip("the installed flake8-inplace does not register the formatter")
    for _ in range(2):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (1, "")
        [run_] = validated((tmp_path / "out.sarif").read_text())["runs"]
    results = {result["ruleId"]: result for result in run_["results"]}
    assert set(results) == {"W291", "E402", "TIP103"}
    assert results["TIP103"]["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 6
    own = json.loads(run("check", "--format=sarif", "net.py", cwd=tmp_path, status=1).stdout)["runs"][0]["results"]
    assert results["TIP103"]["partialFingerprints"] == own[0]["partialFingerprints"]


# fix


def test_fix_shows_a_diff(tmp_path: Path) -> None:
    project(tmp_path, net=HAZARD)
    done = run("fix", "net.py", cwd=tmp_path, status=1)
    assert done.stdout.splitlines()[:2] == ["--- a/net.py", "+++ b/net.py"]
    assert "-    h += 1\n+    h = h + 1\n" in done.stdout
    assert (tmp_path / "net.py").read_text() == HAZARD


def test_fix_writes_what_is_safe(tmp_path: Path) -> None:
    unsafe = HAZARD.replace("    h += 1", "    kept = [h]\n    h += 1").replace("return h", "return h, kept")
    typed = HAZARD.replace("w: torch.nn.Parameter", "w: torch.nn.Parameter, y").replace("+= 1", "+= y")
    project(tmp_path, net=HAZARD, unsafe=unsafe, typed=typed, other=typed)
    run("fix", "--fix", "net.py", "unsafe.py", "typed.py", cwd=tmp_path, status=1)
    assert (tmp_path / "net.py").read_text() == CLEAN
    assert (tmp_path / "unsafe.py").read_text() == unsafe
    assert (tmp_path / "typed.py").read_text() == typed.replace("sigmoid(w)", "sigmoid(w).clone()")
    run("fix", "--unsafe-fixes", cwd=tmp_path, status=0)
    assert (tmp_path / "unsafe.py").read_text() == unsafe.replace("h += 1", "h = h + 1")
    assert (tmp_path / "other.py").read_text() == typed.replace("h += y", "h = h + y")
    again = run("fix", "--unsafe-fixes", cwd=tmp_path, status=0)
    assert "Nothing to fix in 4 files" in again.stderr


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize(
    ("start", "encoding"), [(b"", "utf-8"), (b"\xef\xbb\xbf", "utf-8"), (b"# -*- coding: latin-1 -*-\n", "latin-1")]
)
def test_bytes_in_bytes_out(tmp_path: Path, newline: bytes, start: bytes, encoding: str) -> None:
    def content(text: str) -> bytes:
        return (start + text.replace("    ", "\t").replace("gate", "gaté").encode(encoding)).replace(b"\n", newline)

    (tmp_path / "net.py").write_bytes(content(HAZARD))
    run("fix", "--fix", "net.py", cwd=tmp_path, status=0)
    assert (tmp_path / "net.py").read_bytes() == content(CLEAN)


def test_fix_of_stdin(tmp_path: Path) -> None:
    assert run("fix", "--fix", "-", cwd=tmp_path, stdin=HAZARD, status=0).stdout == CLEAN


def test_fix_leaves_what_is_silenced(tmp_path: Path) -> None:
    silenced = HAZARD.replace("+= 1", "+= 1  # noqa: TIP103")
    project(tmp_path, net=silenced)
    run("fix", "--unsafe-fixes", cwd=tmp_path, status=0)
    assert (tmp_path / "net.py").read_text() == silenced


def test_fix_trouble(tmp_path: Path) -> None:
    project(tmp_path, a="def (:\n", net=HAZARD)
    (tmp_path / "b.py").write_bytes(b"x = '\xff'\n")
    done = run("fix", "--fix", ".", "missing.py", cwd=tmp_path, status=2)
    assert (tmp_path / "net.py").read_text() == CLEAN
    assert len([line for line in done.stderr.splitlines() if line.startswith("flake8-inplace: ")]) == 3


def test_fix_of_a_file_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is told, and the others are mended; permissions do not keep root out, so the refusal is made here."""
    paths = [str(project(tmp_path, **{name: HAZARD}) / f"{name}.py") for name in ("a", "b")]
    original = Path.write_bytes

    def write_bytes(path: Path, content: bytes) -> int:
        if path.name == "a.py":
            raise PermissionError(13, "Permission denied")
        return original(path, content)

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    assert main(["fix", "--isolated", "--fix", *paths]) == 2
    assert f"flake8-inplace: {paths[0]}: cannot be written: Permission denied" in capsys.readouterr().err
    assert [Path(path).read_text() for path in paths] == [HAZARD, CLEAN]


@pytest.mark.parametrize(
    ("line", "mended"),
    [
        ("h += 1; h.mul_(2)", "h = h + 1; h.mul_(2)"),
        ("h, k = k.mul_(3), h.mul_(2)", "h, k = k.mul(3), h.mul_(2)"),  # what k then is, nobody reads
        ("h = h.relu_() + torch.sigmoid(k.exp_()).mul_(2)", "h = h.relu() + torch.sigmoid(k.exp()).mul(2)"),
    ],
)
def test_fix_of_several_findings_on_one_line(tmp_path: Path, line: str, mended: str) -> None:
    """One after the other, each in what the one before left."""
    text = HAZARD.replace("    h += 1\n", f"    k = torch.exp(w)\n    {line}\n")
    run("fix", "--unsafe-fixes", "net.py", cwd=project(tmp_path, net=text))
    assert (tmp_path / "net.py").read_text() == text.replace(line, mended)
    assert "Nothing to fix" in run("fix", "--unsafe-fixes", "net.py", cwd=tmp_path, status=0).stderr


# explain


@pytest.mark.parametrize("code", RULES)
def test_explain(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", code.lower()]) == 0
    page = (ROOT / "docs" / "rules" / f"{code}.md").read_text()
    assert capsys.readouterr().out == page
    assert main(["explain", RULES[code].name]) == 0
    assert capsys.readouterr().out == page


def test_explain_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(RULES)


def test_pages_are_packed() -> None:
    """The pages are written once, in docs/rules; a wheel carries them as `flake8_inplace.pages`."""
    text = (ROOT / "pyproject.toml").read_text()
    assert '"flake8_inplace.pages" = "docs/rules"' in text
    packages = set(re.findall(r'^    "(flake8_inplace[\w.]*)",$', text, re.MULTILINE)) - {"flake8_inplace.pages"}
    holding = [path for name in ("__init__.py", "*.json") for path in (ROOT / "flake8_inplace").rglob(name)]
    there = {".".join(path.parent.relative_to(ROOT).parts) for path in holding}
    assert packages == there


# The commands

RUNTIME = [command for command, (module, _) in COMMANDS.items() if ".runtime." in module]


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command: str, tmp_path: Path) -> None:
    if command in RUNTIME:
        pytest.importorskip("torch")
    assert run(command, "--help", cwd=tmp_path, status=0).stdout.startswith(f"usage: flake8-inplace {command}")
    assert command in run("--help", cwd=tmp_path, status=0).stdout


@pytest.mark.parametrize("command", RUNTIME)
def test_what_runs_programs_says_that_it_needs_torch(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, COMMANDS[command][0].partition(":")[0], raising=False)
    assert main([command]) == USAGE_ERROR
    expected = f"flake8-inplace {command}: needs torch: pip install 'flake8-inplace[runtime]'\n"
    assert capsys.readouterr() == ("", expected)


def test_commands_are_imported_when_called(tmp_path: Path) -> None:
    code = "import sys, flake8_inplace.cli; print(*({'torch', 'libcst', 'flake8'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert (done.stdout.strip(), done.stderr) == ("", "")


@pytest.mark.parametrize(("options", "looked_for"), [((), True), (("--quiet",), False), (("--format=github",), False)])
def test_fixes_are_looked_for_where_they_are_shown(tmp_path: Path, options: tuple[str, ...], looked_for: bool) -> None:
    """To find one takes several times as long as to find what it mends."""
    project(tmp_path, net=HAZARD)
    code = (
        "import sys; from flake8_inplace.cli import main; "
        "main(sys.argv[1:]); print('flake8_inplace.fix' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "check", "--no-cache", *options, "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1] == str(looked_for)
