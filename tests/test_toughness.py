"""Whatever stands in a file, it gets one clear line at most, and the rest of the run is complete.

`python -m tests.generated.fuzz` does to many thousands of files what `test_changed_programs` does to a few;
`TIP_EXAMPLES=20000 python -m pytest tests/test_toughness.py -k any_program` takes more of what Python's grammar allows.
"""

import ast
import gc
import json
import os
import random
import re
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import hypothesmith
import pytest
from generated.fuzz import judge, program_of
from hypothesis import HealthCheck, given, settings

from flake8_inplace import checker
from flake8_inplace.analysis import analyze
from flake8_inplace.checker import findings
from flake8_inplace.cli import main
from flake8_inplace.hazards import TRIGGERS
from flake8_inplace.heap.join import ASSUMPTIONS
from flake8_inplace.program.scan import scan
from flake8_inplace.trace import budget

TESTS = Path(__file__).parent

HAZARD = """\
import torch


def gate(w: torch.nn.Parameter):
    h = torch.sigmoid(w)
    h += 1
    return h
"""

#: Runs one of the two commands, with some of the linter replaced, in processes that are forked from this one.
REPLACED = """
import libcst, multiprocessing, os, signal, sys
from pathlib import Path
import flake8_inplace.commands.check as check
from flake8_inplace.checker import findings
from flake8_inplace.torchfacts import ops
multiprocessing.set_start_method("fork")
{}
if sys.argv[1] == "flake8":
    from flake8.main.cli import main
else:
    from flake8_inplace.cli import main
sys.exit(main(sys.argv[2:]))
"""


def run(*command: str, cwd: Path, memory: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python; its output is UTF-8."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"} | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        preexec_fn=limit if memory else None,
    )


def check(*arguments: str, cwd: Path, replaced: str = "") -> subprocess.CompletedProcess[str]:
    start = ["-c", REPLACED.format(replaced), "check"] if replaced else ["-m", "flake8_inplace"]
    return run(*start, "check", "--isolated", "--format=github", *arguments, cwd=cwd)


def rows(done: subprocess.CompletedProcess[str], lines: list[str] | None = None) -> dict[str, str]:
    """Of each file with a line of output, `line:column code`; one line each, and no traceback."""
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    found: dict[str, str] = {}
    for row in done.stdout.splitlines() if lines is None else lines:
        match = re.match(r"::\w+ file=(.*?),title=(\w+) .*?,line=(\d+),col=(\d+)::", row)
        match = match or re.match(r"()(?:\./)?(?P<path>.*?):(?P<line>\d+):(?P<column>\d+): (?P<code>\w+) ", row)
        assert match, row
        named = match.groupdict()
        path, code, line, column = (named[k] for k in ("path", "code", "line", "column")) if named else match.groups()
        assert path not in found, done.stdout
        found[path] = f"{line}:{column} {code}"
    return found


# Odd files

FOUND = "6:7 TIP103"
LATER = "7:7 TIP103"

#: A file, and where the write in it is found; nothing where it is no Python.
ODD = {
    "tabs": (HAZARD.replace("    ", "\t").encode(), "6:4 TIP103"),
    "mixed_newlines": (HAZARD.replace("\n", "\r\n", 3).replace("return h\n", "return h\r").encode(), FOUND),
    "latin_1_undeclared": (("# é\n" + HAZARD).encode("latin-1"), LATER),
    "unknown_coding": (("# -*- coding: nonsense -*-\n" + HAZARD).encode(), LATER),
    "surrogate": (("x = '\ud800'\n" + HAZARD).encode("utf-8", "surrogatepass"), LATER),
    "tabs_and_spaces": (HAZARD.replace("    h +=", "\th +=").encode(), ""),
    "backslash_at_the_end": ((HAZARD + "\\").encode(), ""),
    "null_byte": ((HAZARD + "x = '\0'\n").encode(), ""),
    "end_of_file_character": ((HAZARD + "\x1a").encode(), ""),
    "utf_16": (HAZARD.encode("utf-16"), ""),
    "every_byte": (bytes(range(256)), ""),
    "python_2": ((HAZARD + "print 'a'\nraise E, 'x'\n").encode(), ""),
    "too_new": ((HAZARD + "x = 1 then 2\n").encode(), ""),
    "parentheses": ((HAZARD + f"x = {'(' * 1000}1{')' * 1000}\n").encode(), ""),
    "indentation": ((HAZARD + "".join(f"{' ' * i}if h:\n" for i in range(300)) + f"{' ' * 300}pass\n").encode(), ""),
}


def test_odd_files(tmp_path: Path) -> None:
    """In one run, with links that lead nowhere, in circles and to a folder above, and a folder named like a file."""
    for name, (content, _) in ODD.items():
        (tmp_path / f"{name}.py").write_bytes(content)
    (tmp_path / "spaces.py").write_text("   ")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "folder.py" / "up").symlink_to(tmp_path)
    (tmp_path / "folder.py" / "net.py").write_text(HAZARD)
    (tmp_path / "folder.py" / "linked.py").symlink_to("net.py")
    expected = {"folder.py/linked.py": FOUND, "folder.py/net.py": FOUND} | {
        f"{n}.py": row for n, (_, row) in ODD.items()
    }
    if sys.version_info[:2] == (3, 11):
        ends_flake8 = set()
    else:  # elsewhere null bytes end flake8, with this plugin and without
        ends_flake8 = {f"{name}.py" for name, (content, _) in ODD.items() if b"\0" in content}
    options = ["--isolated", "--select=TIP,E9", "-j2", f"--extend-exclude={','.join(ends_flake8)}"]
    said = rows(run("-m", "flake8", *options, cwd=tmp_path))
    found = {path: row if "TIP" in row else "" for path, row in said.items()}
    assert found == {path: row for path, row in expected.items() if path not in ends_flake8}
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "nowhere.py").symlink_to("missing")
    done = check(cwd=tmp_path)
    told = done.stdout.splitlines()
    unreadable = [row.partition("file=")[2].partition(",")[0] for row in told if "TIP000" in row]
    found = rows(done, [row for row in told if "TIP000" not in row])
    assert found == {path: row for path, row in expected.items() if row}
    undecodable = {"latin_1_undeclared.py", "surrogate.py", "unknown_coding.py", "utf_16.py"}
    twice = {path for path, number in Counter(unreadable).items() if number > 1}
    assert not twice
    assert set(unreadable) == {path for path, row in expected.items() if not row} | undecodable
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "flake8-inplace: ./loop.py: Too many levels of symbolic links",
        "flake8-inplace: ./nowhere.py: No such file or directory",
    ]


def test_unreadable_file(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(HAZARD)
    (tmp_path / "b.py").write_text(HAZARD)
    (tmp_path / "a.py").chmod(0)
    if os.access(tmp_path / "a.py", os.R_OK):
        pytest.skip("this user may read everything")
    assert rows(run("-m", "flake8", "--isolated", cwd=tmp_path)) == {"a.py": "0:1 E902", "b.py": FOUND}
    done = check(cwd=tmp_path)
    assert (rows(done), done.returncode) == ({"b.py": FOUND}, 2)
    assert done.stderr == "flake8-inplace: ./a.py: Permission denied\n"


@pytest.mark.parametrize("codec", ["hex", "rot13"])
def test_a_codec_that_is_none_of_text(
    codec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """flake8 itself ends with a traceback there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(f"# coding: {codec}\n{HAZARD}")
    (tmp_path / "b.py").write_text(HAZARD)
    assert main(["check", "--isolated", "--format=github"]) == 2
    out, err = capsys.readouterr()
    assert "file=b.py" in out and err == f"flake8-inplace: ./a.py: {codec!r} is not a text encoding\n"


def test_fixes_of_what_is_nested_too_deeply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The findings stand."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(HAZARD.replace("h += 1", f"h += 1; x = {'torch.exp(' * 190}h{')' * 190}"))
    assert main(["check", "--isolated"]) == 1
    out, err = capfd.readouterr()
    assert "TIP103" in out
    assert err == "flake8-inplace: ./a.py: no fixes are shown: nested too deeply\n"


@pytest.fixture
def unnameable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that holds a file whose name is no text becomes the current one."""
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.py")).write_text(HAZARD)
    except OSError:
        pytest.skip("this file system takes no such name")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("unnameable")
@pytest.mark.parametrize("form", ["text", "json", "sarif", "github", "gitlab"])
def test_a_name_that_is_no_text(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--isolated", f"--format={form}", "--output-file=out"]) == 1
    report = (tmp_path / "out").read_text("utf-8")
    assert main(["check", "--isolated", f"--format={form}"]) == 1
    assert capsys.readouterr() == (report, "")
    assert "bad%FF.py" in report if form == "sarif" else "bad\\udcff.py" in report
    if form in ("json", "sarif", "gitlab"):
        json.loads(report)


@pytest.mark.usefixtures("unnameable")
def test_a_fix_of_a_name_that_is_no_text(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "--isolated"]) == 1
    out, err = capfd.readouterr()
    assert "+    h = h + 1" in out.splitlines()
    assert err.startswith("./bad")


@pytest.mark.parametrize(
    "separator", ["\x0c", "\x0b", "\x1c", "\x85", "\u2028"], ids=["form feed", "VT", "FS", "NEL", "LS"]
)
def test_characters_that_end_no_line(separator: str) -> None:
    assert judge(f"# a{separator}b\n{HAZARD}") == ("found", "")
    assert judge(HAZARD.replace("h +=", f"'{separator}'; h +=")) == ("found", "")


def test_many_tensors_that_require_grad_on_some_paths() -> None:
    lines = ["import torch", "def f(w: torch.nn.Parameter, options):"]
    for i in range(18):
        lines += [f" y{i} = torch.zeros(3)", f" if options.a{i}:", f"  if options.b{i}:", f"   if options.c{i}:"]
        lines += [f"    y{i}.add_(w)"]
    lines += [f" return torch.stack([{', '.join(f'y{i}' for i in range(18))}]).exp_()", ""]
    assert not analyze("\n".join(lines)).findings  # three paths of each without a gradient: 3**18 of all


MANY_TESTS = """\
import torch


def scaled(x: torch.Tensor, factor):
    x *= factor
    return x


def f(x: torch.Tensor, options, double, triple):
    if {tests}:
        raise ValueError
    y = x * 2
    kept = y
    if double:
        y = scaled(y, 2)
    if triple:
        y = scaled(y, 3)
    return {read}
"""


@pytest.mark.parametrize(("read", "lines"), [("y + 1", []), ("y + kept", [5])])
def test_what_is_bound_after_more_tests_than_are_told_apart(read: str, lines: list[int]) -> None:
    text = MANY_TESTS.format(tests=" or ".join(f"options[{i}]" for i in range(ASSUMPTIONS + 6)), read=read)
    assert [finding.line for finding in analyze(text).findings] == lines


def test_only_flake8_keeps_what_is_loaded_out_of_collections() -> None:
    script = """
import ast, gc, sys
from flake8_inplace import checker
from flake8_inplace.analysis import analyze
text = "import torch\\ndef f(x: torch.Tensor):\\n    y = x.exp()\\n    y += 1\\n    return y\\n"
before = gc.get_freeze_count()
checker.findings(text)
assert "libcst" in sys.modules and gc.get_freeze_count() <= before  # what is frozen can still be given up
assert len(list(checker.Checker(ast.parse(text), text.splitlines(True)).run())) == 1
assert gc.get_freeze_count() > before + 1000
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_long_run_forgets_what_it_has_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file is still told what the files that it imports do."""
    monkeypatch.setattr(checker, "KEPT", 2)
    checker._program.cache_clear()  # one that knows unsaved texts forgets nothing
    settings, lines = checker.Checker.settings, []
    for number in range(6):
        (tmp_path / f"p{number}").mkdir()
        (tmp_path / f"p{number}" / "own.py").write_text("def double(x):\n    return x.mul_(2)\n")
        user = tmp_path / f"p{number}" / "user.py"
        user.write_text("import torch\nfrom own import double\ndef f(w):\n    return double(torch.exp(w))\n")
        lines.append([finding.line for finding in findings(user.read_text(), None, str(user))])
        assert checker.program(settings).size <= 2
    assert lines == [[4]] * 6


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_left_as_it_was(enabled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after an error; while a file is read it pauses."""
    seen = []

    def failing(*_: object) -> None:
        seen.append(gc.isenabled())
        raise ValueError

    monkeypatch.setattr(checker, "analyze", failing)
    (gc.enable if enabled else gc.disable)()
    try:
        assert [f.code for f in findings("import torch\nx = 0\n" * (1 + enabled))] == ["TIP000"]
        assert (seen, gc.isenabled()) == ([False], enabled)
    finally:
        gc.enable()


# Long and deep ones

#: What a function holds beside the write in line 6, and what is found in it. Too much for libcst's recursion is the
#: function in line 5, and no more than that.
DEEP = {
    "unary": (f"x = {'-' * 1000}h\n", (5, "TIP000")),
    "sum": (f"x = {'h + ' * 1000}h\n", (5, "TIP000")),
    "sum that is kept": (f"h[0] = {'h + ' * 1000}h\n", (5, "TIP000")),
    "calls": (f"x = h{'.exp()' * 300}\n", (5, "TIP000")),
    "elif": ("if x:\n    x = 1\n" + "elif x == 2:\n    x = h\n" * 1000, (5, "TIP000")),
    "lambdas": (f"x = {'lambda: ' * 1000}h\n", (5, "TIP000")),
    "assignments": (f"{'x = ' * 1000}h\n", (6, "TIP103")),
    "loops": ("".join(f"{' ' * i}for i in h:\n" for i in range(6)) + " " * 6 + "h = h * i\n", (6, "TIP103")),
}


@pytest.mark.parametrize("text, expected", DEEP.values(), ids=DEEP)
def test_deep_nesting(text: str, expected: tuple[int, str]) -> None:
    """At worst the one function is said to be too much; the one after it is read."""
    body = "".join(f"    {line}\n" for line in text.splitlines())
    first = HAZARD.replace("    return h\n", f"{body}    return h\n")
    later = first.count("\n") + 5
    assert [(f.line, f.code) for f in findings(first + HAZARD.partition("\n")[2])] == [expected, (later, "TIP103")]


#: Two hundred statements, each of which asks for the name in the one before, and a function that asks for the last.
CHAINS = {
    "tables": "T0 = [1]\n" + "".join(f"T{i} = {{'a': T{i - 1}}}\n" for i in range(1, 200)),
    "bases": "class T0: pass\n" + "".join(f"class T{i}(T{i - 1}): pass\n" for i in range(1, 200)),
}


@pytest.mark.parametrize("text", CHAINS.values(), ids=CHAINS)
def test_long_chains_of_names(text: str) -> None:
    function = "\n\ndef f(x: torch.Tensor):\n    y = x.exp()\n    y += len(T199)\n    return y\n\n\n"
    assert [(f.line, f.code) for f in findings(HAZARD + function + text)] == [(6, "TIP103"), (12, "TIP103")]


LONG = {
    "50,000 lines": "def plain(x):\n    y = x + 1\n    return y\n\n\n" * 10_000 + HAZARD.partition("\n")[2],
    "10 MB of strings": "TABLE = [\n" + f"    '{'x' * 1000}',\n" * 10_000 + "]\n" + HAZARD.partition("\n")[2],
    "strings that are read": HAZARD.replace("h += 1", f"t = [{repr('x' * 1000) + ', '} * 3000]\n    h += 1"),
    "a long line": "x = [" + "1, " * 30_000 + "]\n" + HAZARD.partition("\n")[2],
    "numbers that are read": HAZARD.replace("h += 1", f"t = {[0] * 650_000}\n    h += 1"),
}


def test_long_files(tmp_path: Path) -> None:
    """Each within a gigabyte, most of which is Python's own parse."""
    texts = [text if text.startswith("import") else f"import torch\n{text}" for text in LONG.values()]
    lines = [text[: text.index("h += 1")].count("\n") + 1 for text in texts]
    assert found_in(texts, tmp_path) == [f"{line} TIP103" for line in lines]


def found_in(texts: Sequence[str], folder: Path) -> list[str]:
    """Line and code of the first finding in each text, read one after the other in a process with little memory."""
    for number, text in enumerate(texts):
        (folder / f"{number}.txt").write_text(text)
    code = (
        "from pathlib import Path; from flake8_inplace.checker import findings\n"
        f"for i in range({len(texts)}):\n"
        "    print(*(f'{f.line} {f.code}' for f in findings(Path(f'{i}.txt').read_text())[:1]))"
    )
    done = run("-c", code, cwd=folder, memory=1 << 30)
    assert done.stderr == ""
    return done.stdout.splitlines()


#: Short texts that ask for much: of time, or of memory.
GREEDY = {
    "recursion": "def r(x):\n    x += 1\n    return r(x) + r(x) + r(x)\n",
    "calls of all by all": "".join(
        f"def f{i}(x):\n    x += 1\n    return {' + '.join(f'f{j}(x)' for j in range(20))}\n" for i in range(20)
    ),
    "large numbers": "x = 9 ** 9 ** 9 ** 9\nx += 1 << 10 ** 12\nx += 'a' * 10 ** 10\n",
    "large containers": "x = [torch.ones(1) for _ in range(10 ** 9)] + [0] * 10 ** 9\nx[0] += 1\n",
    "doubled tuples": "x = (1,)\n" + "x = (*x, *x)\n" * 100 + "x += 1\n",
    "nested tuples": "x = 1\n" + "x = (x, x)\n" * 100 + "x += 1\n",
    "a million rounds": "h = torch.ones(1)\nfor i in range(1000):\n    for j in range(1000):\n        h += h.exp()\n",
    "doubled lists": "x = [1]\n" + "x = x + x\n" * 100 + "x += 1\n",
    "nested tuples that are looked up": "x = (1,)\n"
    + "x = (x, x)\n" * 60
    + "y = x is x, x == x, x in [x], {x: x}\nx += 1\n",
    "nested tuples that are compared": "x = y = (1,)\n"
    + "x = (x, x)\ny = (y, y)\n" * 60
    + "z = x is x, y is y, x == y, x in [y], {x: 1, y: 2}\nx += 1\n",
    "nested tables": "import copy\nfrom torch.utils._pytree import tree_map\nx = (1,)\n"
    + "x = {'a': x, 'b': [x, (x, x)]}\n" * 40
    + "y = tree_map(torch.exp, x), copy.deepcopy(x)\nx += 1\n",
    "added tuples": "x = (1,)\n" + "x = x + x\n" * 100 + "x += 1\n",
    "doubled text": "x = 'ab'\n" + "x += x\n" * 100 + "y = f'{x}{x}'.replace('a', x)\nx += 1\n",
    "wide text": "x = '%999999999d' % 5 + 'a' * 999999999 + '{:999999999}'.format(5)\nx += 1\n",
    "squared numbers": "x = 10\n" + "x *= x\n" * 100 + "x += 1\n",
    "what no number is": f"x = int('{'9' * 5000}') + float({10**400}) + int(1e999) + int(float('nan'))\nx += 1\n",
    "what no length is": "x = len(range(10 ** 40))\nfor x in range(10 ** 40):\n    x += [1, 2][::0]\n",
    "a product": "import itertools\nfor x, *y in itertools.product(*([range(999)] * 3)):\n    x += 1\n",
    "nested patterns": f"def f(x):\n    match x:\n        case {'[' * 40}y{']' * 40}:\n            y += 1\n",
}
#: More than is done for one file: what was found before is reported, and where the reading ended.
ENDLESS = (
    "def f(h, w):\n"
    + "".join(f"    {' ' * i}for i{i} in range(5):\n" for i in range(20))
    + f"    {' ' * 20}h = h * w\n    {' ' * 20}h += 1\n"
)


def test_greedy_files(tmp_path: Path) -> None:
    texts = [HAZARD + text for text in GREEDY.values()]
    assert found_in(texts, tmp_path) == ["6 TIP103"] * len(texts)


def test_a_file_without_end() -> None:
    assert [(f.line, f.code) for f in findings(HAZARD + ENDLESS)] == [(8, "TIP000"), (6, "TIP103")]


def test_a_call_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """In which no statement is read."""
    monkeypatch.setattr(budget, "SECONDS", 1)
    layers = "d = torch.nn.ReLU()\n" + "d = torch.nn.Sequential(d, d)\n" * 40 + "y = d(torch.ones(1))\ny += 1\n"
    assert {finding.code for finding in findings(HAZARD + layers)} == {"TIP000"}


def test_a_function_that_is_too_long() -> None:
    table = f"    '{'x' * 1000}',\n" * 2000
    long = f"\n\ndef long(x):\n    x += 1\n    return x, [\n{table}    ]\n"
    assert [(f.line, f.code) for f in findings(HAZARD + long)] == [(10, "TIP000"), (6, "TIP103")]


# Programs that nobody would write


@settings(
    max_examples=int(os.environ.get("TIP_EXAMPLES", "60")),
    derandomize="TIP_EXAMPLES" not in os.environ,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(hypothesmith.from_grammar() | hypothesmith.from_node())
def test_any_program(source: str) -> None:
    text = f"import torch\n{source}\nx.add_(1)\n"
    program = scan(text, ast.parse(text), TRIGGERS)
    assert program is not None and program.worth  # so that all of it is read
    assert "TIP000" not in {finding.code for finding in findings(text)}


@pytest.mark.parametrize("number", range(4))
def test_changed_programs(number: int) -> None:
    cases = sorted(TESTS.joinpath("cases").glob("*.py")) + sorted(TESTS.glob("generated/*.py"))
    kinds = []
    for i in range(10 * number, 10 * number + 10):
        source = program_of(cases, 1, i)
        if source is not None:
            kind, cause = judge(source)
            assert kind != "failed", (cause, source)
            kinds.append(kind)
    assert "found" in kinds


#: What the fuzzer found, made short.
FAILED = {
    "a list that holds itself": (
        "def f(x: torch.Tensor):\n    rows = []\n    rows.append(rows)\n    x += 1\n    return torch.stack(rows)\n"
    ),
    "a copy of what holds itself": (
        "import copy\n\n\ndef f(x: torch.Tensor):\n    d = {}\n    d[0] = d\n    x += 1\n    return copy.deepcopy(d)\n"
    ),
    "an annotation that is no text": "x: '\\ud800' = 1\nx += 1\n",
}


@pytest.mark.parametrize("source", [pytest.param(text, id=name) for name, text in FAILED.items()])
def test_what_the_fuzzer_found(source: str) -> None:
    assert judge(HAZARD + source)[0] == "found"


def test_a_generator_of_module_level_code() -> None:
    """It runs when one of its names is looked up, in no function and not in the order of the text."""
    rows = "rows = sorted([name, 1] for name in 'ab')\nmore = list(map(sorted, [[2, 1]]))\n"
    function = "\n\ndef f(x: torch.Tensor):\n    y = x.exp()\n    y += len(rows) + len(more)\n    return y\n"
    assert len(analyze("import torch\n\n" + rows + function).findings) == 1


def test_a_reduction_of_module_level_code() -> None:
    """No function runs when it is looked up, so there is none whose return counts."""
    total = "import operator, functools\n\ntotal = functools.reduce(operator.or_, [1, 2]) + len((1,) + (2,))\n"
    function = "\n\ndef f(x: torch.Tensor):\n    y = x.exp()\n    y += total\n    return y\n"
    assert [finding.code for finding in analyze("import torch\n" + total + function).findings] == ["TIP103"]


# What goes wrong around the files


def project(folder: Path, count: int = 3) -> None:
    for i in range(count):
        (folder / f"f{i:02}.py").write_text(HAZARD)
    (folder / "plain.py").write_text("x = 1 \n")


def test_a_corrupt_table(tmp_path: Path) -> None:
    """Files with torch say so; the others are none of its business."""
    project(tmp_path, 2)
    (tmp_path / "broken.json").write_text("{")
    replaced = REPLACED.format("ops.TABLE = Path('broken.json')")
    done = run("-c", replaced, "flake8", "--isolated", "-j2", cwd=tmp_path)
    assert rows(done) == {"f00.py": "1:1 TIP000", "f01.py": "1:1 TIP000", "plain.py": "1:6 W291"}
    assert done.stdout.count("broken.json: unreadable table of facts") == 2


@pytest.mark.parametrize(
    "settings",
    ["[flake8]\nmax-line-length = wide\n", "[flake8]\nextend-ignore = ???\n", "[flake8]\ninplace-ops = .\n"],
    ids=["value", "code", "operators"],
)
def test_broken_configuration(
    settings: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project(tmp_path)
    (tmp_path / ".flake8").write_text(settings)
    monkeypatch.chdir(tmp_path)
    assert main(["check"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("flake8-inplace: ")


def test_a_process_that_is_killed(tmp_path: Path) -> None:
    project(tmp_path, 9)
    (tmp_path / "f05.py").write_text("# DIE\n" + HAZARD)
    replaced = "check.findings = lambda text, *_: os.kill(os.getpid(), 9) if 'DIE' in text else findings(text)"
    done = check("-j3", cwd=tmp_path, replaced=replaced)
    expected = {f"f{i:02}.py": FOUND for i in range(9)} | {"f05.py": "1:1 TIP000"}
    assert rows(done) == expected
    assert "the process that read it died" in done.stdout


def test_a_run_that_is_stopped(tmp_path: Path) -> None:
    project(tmp_path)
    stop = "lambda *_: (signal.signal(signal.SIGINT, signal.default_int_handler), signal.raise_signal(signal.SIGINT))"
    done = check("-j1", cwd=tmp_path, replaced=f"check.findings = {stop}")  # a shell's background job ignores SIGINT
    assert (done.stdout, done.stderr, done.returncode) == ("", "flake8-inplace: stopped after 0 files\n", 130)


# Always the same


def test_determinism(tmp_path: Path) -> None:
    """Whatever the hash seed, the number of processes and the order of the files: the same, in the same order."""
    paths = sorted(TESTS.joinpath("cases").glob("*.py"))[::11]
    reports = set()
    for seed, jobs, order in (("0", "1", paths), ("1", "8", paths[::-1]), ("7", "2", shuffled(paths))):
        done = run(
            *("-m", "flake8_inplace", "check", "--isolated", "--format=json", f"-j{jobs}", *map(str, order)),
            cwd=tmp_path,
            PYTHONHASHSEED=seed,
        )
        assert (done.returncode, done.stderr) == (1, "")
        reports.add(done.stdout)
    assert len(reports) == 1
    found = {json.dumps(row, sort_keys=True) for row in json.loads(reports.pop())["findings"]}
    assert len(found) >= len(paths) - 2


def test_determinism_of_flake8(tmp_path: Path) -> None:
    paths = sorted(TESTS.joinpath("cases").glob("*.py"))[3::24]
    arguments = ["-m", "flake8", "--isolated", "--select=TIP", "--enable-extensions=TIP5,TIP9"]
    first = run(*arguments, "-j1", *map(str, paths), cwd=tmp_path, PYTHONHASHSEED="0")
    other = run(*arguments, "-j8", *map(str, paths[::-1]), cwd=tmp_path, PYTHONHASHSEED="5")
    assert first.stdout == other.stdout
    assert first.stdout.count("\n") >= len(paths)


def shuffled(paths: Sequence[Path]) -> list[Path]:
    return random.Random(3).sample(paths, len(paths))
