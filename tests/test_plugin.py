"""The plugin under a real flake8 process, as people run it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import flake8_inplace

EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"

HAZARD = """\
import torch


def gate(w: torch.nn.Parameter):
    h = torch.sigmoid(w)
    h += 1
    return h
"""
FOUND = ["6:7 TIP103"]

CLEAN = """\
import torch


def gate(w: torch.nn.Parameter):
    h = torch.sigmoid(w)
    h = h + 1
    return h
"""

#: Python reads this and libcst 1.9 does not: parentheses around an annotated name.
STRANGE = HAZARD.replace("    h += 1\n", "    (h): torch.Tensor = h; h += 1\n")
#: More than is read of one function.
UNREADABLE = HAZARD.replace("    h += 1\n", "    h += 1\n    x = [\n" + f"    '{'x' * 1000}',\n" * 2000 + "    ]\n")


def run(*arguments: str, cwd: Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "flake8", "--require-plugins=flake8-inplace", *arguments]
    done = subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    assert done.stderr == ""
    return done


def found(done: subprocess.CompletedProcess[str]) -> list[str]:
    """`row:column code` of each line of the output, with the file before it where there is more than one."""
    rows = [re.fullmatch(r"(\S+?):(\d+):(\d+): ([A-Z]+\d+) (.+)", line) for line in done.stdout.splitlines()]
    assert all(rows), done.stdout
    files = {row[1] for row in rows if row}
    assert done.returncode == bool(rows)
    return [(f"{row[1]}:" if len(files) > 1 else "") + f"{row[2]}:{row[3]} {row[4]}" for row in rows if row]


def write(folder: Path, **files: str) -> list[str]:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return [f"{name}.py" for name in files]


# Where flake8 gets its input from


def test_file(tmp_path: Path) -> None:
    write(tmp_path, net=HAZARD)
    assert found(run("net.py", cwd=tmp_path)) == FOUND


def test_folder(tmp_path: Path) -> None:
    write(tmp_path, net=HAZARD, other=CLEAN)
    assert found(run(cwd=tmp_path)) == FOUND


def test_stdin(tmp_path: Path) -> None:
    done = run("-", cwd=tmp_path, stdin=HAZARD)
    assert found(done) == FOUND
    assert done.stdout.startswith("stdin:")


def test_stdin_display_name(tmp_path: Path) -> None:
    done = run("--stdin-display-name=models/net.py", "-", cwd=tmp_path, stdin=HAZARD)
    assert found(done) == FOUND
    assert done.stdout.startswith("models/net.py:")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_several_files(tmp_path: Path, jobs: str) -> None:
    write(tmp_path, a=HAZARD, b=CLEAN, c="\n" + HAZARD, d=HAZARD)
    done = run("-j", jobs, cwd=tmp_path)
    assert sorted(found(done)) == [f"./{line}" for line in ("a.py:6:7 TIP103", "c.py:7:7 TIP103", "d.py:6:7 TIP103")]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("start", ["", "\ufeff"], ids=["plain", "bom"])
def test_bytes(tmp_path: Path, newline: str, start: str) -> None:
    (tmp_path / "net.py").write_bytes((start + HAZARD.replace("\n", newline)).encode())
    assert found(run("--select=TIP", "net.py", cwd=tmp_path)) == FOUND


def test_declared_encoding(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_bytes(("# -*- coding: latin-1 -*-\n# für\n" + HAZARD).encode("latin-1"))
    assert found(run("net.py", cwd=tmp_path)) == ["8:7 TIP103"]


def test_no_newline_at_the_end(tmp_path: Path) -> None:
    assert found(run("--select=TIP", "-", cwd=tmp_path, stdin=HAZARD.rstrip("\n"))) == FOUND


# Where a finding stands


COLUMNS = {
    "method": ("h.mul_(2)", 7, "TIP101"),
    "chain": ("h.view(-1).mul_(2)", 16, "TIP101"),
    "function": ("torch.relu_(h)", 11, "TIP101"),
    "flag": ("torch.nn.functional.relu(h, inplace=True)", 25, "TIP102"),
    "augmented": ("h -= 1", 7, "TIP103"),
    "index": ("h[0] = 0", 6, "TIP104"),
    "index_augmented": ("h[0] += 1", 10, "TIP103"),
    "out": ("torch.rand(3, out=h.detach())", 11, "TIP105"),
    "characters_not_bytes": ("é = h; é += 1", 14, "TIP103"),
}


@pytest.mark.parametrize(("statement", "column", "code"), COLUMNS.values(), ids=COLUMNS)
def test_column_is_that_of_the_write(tmp_path: Path, statement: str, column: int, code: str) -> None:
    done = run("--select=TIP", "-", cwd=tmp_path, stdin=HAZARD.replace("h += 1", statement))
    assert found(done) == [f"6:{column} {code}"]


def test_line_is_that_of_the_write(tmp_path: Path) -> None:
    chain = "y = (\n        h\n        .view(-1)\n        .mul_(2)\n    )"
    assert found(run("-", "--select=TIP", cwd=tmp_path, stdin=HAZARD.replace("h += 1", chain))) == ["9:10 TIP101"]


# What silences it


@pytest.mark.parametrize("comment", ["# noqa", "# noqa: TIP103", "# noqa: TIP", "# noqa: E501, TIP103", "# noqa:TIP1"])
def test_noqa(tmp_path: Path, comment: str) -> None:
    assert found(run("-", cwd=tmp_path, stdin=HAZARD.replace("+= 1", f"+= 1  {comment}"))) == []


def test_noqa_of_another_code(tmp_path: Path) -> None:
    assert found(run("-", cwd=tmp_path, stdin=HAZARD.replace("+= 1", "+= 1  # noqa: TIP104"))) == FOUND


def test_noqa_stands_on_the_line_of_the_write(tmp_path: Path) -> None:
    chain = "y = (h{}\n         .mul_(2){})"
    silenced = HAZARD.replace("h += 1", chain.format("", "  # noqa: TIP101\n         "))
    elsewhere = HAZARD.replace("h += 1", chain.format("  # noqa: TIP101", ""))
    assert found(run("--select=TIP", "-", cwd=tmp_path, stdin=silenced)) == []
    assert found(run("--select=TIP", "-", cwd=tmp_path, stdin=elsewhere)) == ["7:11 TIP101"]


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("--select=TIP", FOUND),
        ("--select=TIP103", FOUND),
        ("--select=TIP1,E", FOUND),
        ("--select=TIP101", []),
        ("--select=E,F,W", []),
        ("--extend-ignore=TIP103", []),
        ("--extend-ignore=TIP", []),
        ("--ignore=E501", FOUND),
        ("--extend-select=TIP", FOUND),
        ("--isolated", FOUND),
        ("--per-file-ignores=net.py:TIP103", []),
        ("--per-file-ignores=other.py:TIP103", FOUND),
    ],
)
def test_options(tmp_path: Path, option: str, expected: list[str]) -> None:
    write(tmp_path, net=HAZARD)
    assert found(run(option, "net.py", cwd=tmp_path)) == expected


@pytest.mark.parametrize("name", [".flake8", "setup.cfg", "tox.ini"])
def test_config_file(tmp_path: Path, name: str) -> None:
    write(tmp_path, net=HAZARD)
    (tmp_path / name).write_text("[flake8]\nextend-ignore = TIP103\n")
    assert found(run("net.py", cwd=tmp_path)) == []
    assert found(run("--isolated", "net.py", cwd=tmp_path)) == FOUND


# What goes wrong


def test_unreadable_file(tmp_path: Path) -> None:
    write(tmp_path, a=UNREADABLE, b=HAZARD)
    done = run("--select=TIP", "a.py", "b.py", cwd=tmp_path)
    assert [line.split(":")[0] + line.split()[-1] for line in found(done)] == ["a.pyTIP000", "b.pyTIP103"]


def test_what_the_parser_of_libcst_does_not_know(tmp_path: Path) -> None:
    write(tmp_path, a=STRANGE)
    assert found(run("--select=TIP", "a.py", cwd=tmp_path)) == ["6:30 TIP103"]


def test_syntax_error(tmp_path: Path) -> None:
    write(tmp_path, a=HAZARD + "def (:\n", b=HAZARD)
    done = run("--select=TIP,E9", "a.py", "b.py", cwd=tmp_path)
    assert [line.split()[-1] for line in found(done)] == ["E999", "TIP103"]


@pytest.mark.parametrize("text", ["", "\n", "import torch\n", "# import torch\n", "import torch\nx = 1\nx += 1\n"])
def test_next_to_nothing(tmp_path: Path, text: str) -> None:
    assert found(run("--select=TIP", "-", cwd=tmp_path, stdin=text)) == []


def test_a_defect_of_the_linter_is_one_line(tmp_path: Path) -> None:
    """Whatever the analysis raises, the file gets TIP000 and the run goes on."""
    write(tmp_path, a=HAZARD, b="x = 1 \n")
    for error in ("ZeroDivisionError('first\\nsecond line')", "RecursionError()", "MemoryError()"):
        code = (
            "import sys, flake8_inplace.analysis, flake8_inplace.checker as checker\n"
            "def broken(*arguments, **options):\n"
            f"    raise {error}\n"
            "flake8_inplace.analysis.Program.analyze = broken\n"
            "if hasattr(checker, 'analyze'):\n"
            "    checker.analyze = broken\n"
            "from flake8.main.cli import main\n"
            "sys.exit(main(['-j1', 'a.py', 'b.py']))\n"
        )
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.stderr == ""
        assert found(done) == ["a.py:1:1 TIP000", "b.py:1:1 TIP000", "b.py:1:6 W291"]
        assert ("first second line" if "first" in error else error.split("(")[0]) in done.stdout


# What it costs


@pytest.mark.parametrize(
    "text",
    [
        "import numpy as np\nx = np.zeros(3)\nx += 1\nx[0] = 2\n",
        "import torch\n\n\ndef f(x):\n    return torch.sigmoid(x) + 1\n",
    ],
    ids=["no torch", "no write"],
)
def test_libcst_is_left_alone(tmp_path: Path, text: str) -> None:
    write(tmp_path, net=text)
    code = (
        "import sys\n"
        "from flake8.main.cli import main\n"
        "assert main(['--require-plugins=flake8-inplace', '-j1', 'net.py']) == 0\n"
        "print(*({'torch', 'libcst'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.stdout.strip(), done.stderr) == ("", "")


def test_torch_is_never_imported(tmp_path: Path) -> None:
    write(tmp_path, net=HAZARD)
    code = (
        "import sys\n"
        "from flake8.main.cli import main\n"
        "assert main(['-q', '-j1', 'net.py']) == 1\n"
        "print('torch' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines()[-1] == "False"


# What it says


def test_messages(tmp_path: Path) -> None:
    """One line, no place in the shape that editors take for the place of the finding, and not endless."""
    done = run("--isolated", "--select=TIP", "--format=%(code)s\t%(text)s", str(EXAMPLES), cwd=tmp_path)
    messages = [line.split("\t") for line in done.stdout.splitlines()]
    assert messages
    for message in messages:
        assert len(message) == 2, message
        code, text = message
        assert re.fullmatch(r"TIP\d{3}", code)
        assert text == text.strip()
        assert not re.search(r":\d*:\d*: |\t", text), text
        assert 20 < len(text) < 200, text


def test_github_annotations(tmp_path: Path) -> None:
    """flake8 escapes nothing in a format of one's own: a message must survive as it is."""
    write(tmp_path, net=HAZARD)
    form = "::error file=%(path)s,line=%(row)d,col=%(col)d,title=%(code)s::%(text)s"
    done = run(f"--format={form}", "net.py", cwd=tmp_path)
    said = "`h += 1` overwrites sigmoid's saved result (line 5): backward raises; write `h = h + ...`"
    assert done.stdout == f"::error file=net.py,line=6,col=7,title=TIP103::{said}\n"


def test_version_is_listed(tmp_path: Path) -> None:
    assert f"flake8-inplace: {flake8_inplace.__version__}" in run("--version", cwd=tmp_path).stdout


def test_bug_report(tmp_path: Path) -> None:
    plugins = json.loads(run("--bug-report", cwd=tmp_path).stdout)["plugins"]
    assert {"plugin": "flake8-inplace", "version": flake8_inplace.__version__} in plugins


# What is off by default, and options

BANNED = """\
import torch

weight = torch.zeros(3)
weight.fill_(1)
"""
#: Calls of a library: what they do with their arguments, no file shows.
OWN = """\
import own


def gate(w):
    h = own.gate(w)
    own.shift_(h)
    return h
"""
OWN_MODULE = """\
import own
import torch


def gate(w: torch.nn.Parameter):
    h = torch.exp(w)
    own.Act(True)(h)
    own.Act()(h)
    return h
"""
MODULES = {
    "format": 1,
    "modules": {
        "own.Act": {
            "init": "inplace",
            "defaults": {"inplace": False},
            "op": "act|input:T|result<input||fresh",
            "inplace": "act_|input:T|result<input|input|same(input)",
        }
    },
}
OPS = {
    "format": 1,
    "rows": ["gate|x:T|result<x||fresh", "shift_|x:T||x|same(x)"],
    "names": {"own.gate": [0], "own.shift_": [1]},
}


@pytest.mark.parametrize("settings", ["", "ignore = E501", "select = TIP"])
def test_off_by_default(tmp_path: Path, settings: str) -> None:
    write(tmp_path, net=BANNED)
    (tmp_path / "setup.cfg").write_text(f"[flake8]\n{settings}\n")
    assert found(run("net.py", cwd=tmp_path)) == []


@pytest.mark.parametrize("option", ["enable-extensions", "extend-select"])
@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
def test_switched_on(tmp_path: Path, jobs: str, option: str) -> None:
    write(tmp_path, net=BANNED, other=HAZARD)
    (tmp_path / "tox.ini").write_text(f"[flake8]\n{option} = TIP5, TIP9\n")
    rows = found(run(jobs, "net.py", "other.py", cwd=tmp_path))
    assert rows == ["net.py:4:8 TIP901", "other.py:6:7 TIP103", "other.py:6:7 TIP903"]


def test_own_operators(tmp_path: Path) -> None:
    write(tmp_path, net=OWN)
    (tmp_path / "own.json").write_text(json.dumps(OPS))
    (tmp_path / ".flake8").write_text("[flake8]\ninplace-ops = own.json\ninplace-frameworks = own, other\n")
    assert found(run("-j1", "net.py", cwd=tmp_path)) == ["6:9 TIP101"]


def test_own_modules(tmp_path: Path) -> None:
    write(tmp_path, net=OWN_MODULE)
    (tmp_path / "own.json").write_text(json.dumps(MODULES))
    assert found(run("--isolated", "--inplace-ops=own.json", "net.py", cwd=tmp_path)) == ["7:5 TIP102"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "own.json: No such file or directory"),
        ("{", "own.json: not valid JSON: "),
        ('{"format": 2}', "own.json: not of format 1"),
        ('{"format": 1, "ops": []}', "own.json: unknown key 'ops'"),
        ('{"format": 1, "rows": ["gate|x:T|y<x"]}', "own.json: not a table of operators: 'y' in 'gate|x:T|y<x'"),
        ('{"format": 1, "rows": ["gate|x:T mode?|x<x~mod=a"]}', "own.json: not a table of operators: 'mod' in "),
        ('{"format": 1, "rows": ["gate|x:T"], "names": {"own.gate": [1]}}', "own.json: not a table of operators"),
        ('{"format": 1, "rows": ["gate|x:T|||copy(x)"]}', "not a table of operators: 'copy' in 'gate|x:T|||copy(x)'"),
        ('{"format": 1, "modules": {"own.Gate": {"op": "Gate|x:T|y<x"}}}', "not a table of operators: 'y' in "),
        (
            '{"format": 1, "modules": {"own.Gate": {"op": "Gate|x:T", "inplace": "Gate|x:T|z<x"}}}',
            "own.json: not a table of operators: 'z' in ",
        ),
    ],
)
def test_own_operators_that_cannot_be_used(tmp_path: Path, text: str | None, said: str) -> None:
    write(tmp_path, net=OWN)
    if text is not None:
        (tmp_path / "own.json").write_text(text)
    done = run("--isolated", "--inplace-ops=own.json", "net.py", cwd=tmp_path)
    assert done.returncode == 1
    first, second = done.stdout.splitlines()
    assert first == "There was a critical error during execution of Flake8:"
    assert second.startswith("inplace-ops: ") and said in second


def test_readings_are_explained(tmp_path: Path) -> None:
    """FLAKE8_INPLACE_EXPLAIN says of each function whether it was read, and why not."""
    program = tmp_path / "program.py"
    program.write_text(
        "import torch\n\ndef f(x: torch.Tensor):\n    g(x)\n\ndef g(y):\n    y.mul_(2)\n\ndef h(z):\n    return z + 1\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "flake8", "--isolated", "--select=TIP", str(program)],
        env={**os.environ, "FLAKE8_INPLACE_EXPLAIN": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line.partition(": line ")[2] for line in done.stderr.splitlines()]
    assert said == [
        "3: f: read, as code outside the file may call it",
        "6: g: read where the file calls it",
        "9: h: not worth reading: no name in it leads to an in-place write",
    ]
