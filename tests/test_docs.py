"""What the documentation says is what happens: examples are executed and linted, console excerpts are run again.

`python tests/test_docs.py` writes what can be written by a machine: the console excerpts, the tables of rules, and the
titles of the rule pages.
"""

import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest
import torch

import flake8_inplace
from flake8_inplace.analysis import analyze
from flake8_inplace.rules import RULES
from flake8_inplace.runtime import conformance, pages
from flake8_inplace.runtime.pages import fenced, sections
from flake8_inplace.torchfacts import notation

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = [README, *(ROOT / "docs" / f"{name}.md" for name in ("commands", "runtime", "verify", "adding-an-op"))]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
CONSOLE = re.compile(r"^```console\n(?:\$ cd (.+)\n)?\$ python (.+)\n((?:.*\n)*?)```$", re.MULTILINE)
PROGRESS = re.compile(r"^verify: \d+ backward pass(es)?\n", re.MULTILINE)  # said every ten seconds: on a slow machine
ROWS = re.compile(r"(?:^\| \[TIP\d+\].*\n)+", re.MULTILINE)
SETUP = [
    "python -m pip install . && python -m flake8 docs/examples",
    "python -m pip install '.[test]' && python -m pytest",
]
HEADINGS = [
    "What it does",
    "Why it is a hazard",
    "Bad",
    "Good",
    "What PyTorch says",
    "Fix and its safety",
    "When it is fine",
    "Options",
    "References",
]

each_rule = pytest.mark.parametrize("code", RULES)


# The page of each rule


def page(code: str) -> Path:
    return conformance.PAGES / f"{code}.md"


def example(code: str, device: torch.device) -> pages.Example:
    return pages.try_rule(RULES[code], pages.read_page(page(code)), device)


def family(code: str) -> frozenset[str]:
    """What has to be switched on for a rule that is off by default."""
    return frozenset(filter(None, [RULES[code].family]))


def test_every_rule_has_a_page_and_every_page_a_rule() -> None:
    assert sorted(path.stem for path in (ROOT / "docs" / "rules").glob("*.md")) == sorted(RULES)


@each_rule
def test_headings(code: str) -> None:
    found = sections(page(code))
    assert page(code).read_text().splitlines()[0] == title(code)
    assert list(found) == HEADINGS
    assert all(section.strip() for section in found.values())


@each_rule
def test_the_page_argues_the_grade_of_the_fix(code: str) -> None:
    """In a word of its own: the grade that `flake8-inplace fix` gives at best."""
    grades = {"safe": "**Safe**", "unsafe": "**Unsafe", "never": "**Never written:**"}
    found = [grade for grade, word in grades.items() if word in sections(page(code))["Fix and its safety"]]
    assert found == [RULES[code].fix]


@each_rule
def test_bad_program_fails(code: str, device: torch.device) -> None:
    """As quoted, or, where PyTorch has nothing to say, in another gradient than the good one."""
    found = example(code, device)
    assert found.bad_confirmed, found


@each_rule
def test_bad_program_is_reported(code: str) -> None:
    result = analyze(pages.read_page(page(code)).bad, extra=family(code))
    codes = [finding.code for finding in result.findings]
    if code == "TIP000":
        assert result.problem is not None
    else:
        assert codes == [code]
        assert result.problem is None


@each_rule
def test_good_program_runs(code: str, device: torch.device) -> None:
    found = example(code, device)
    assert found.good_clean, found


@each_rule
def test_good_program_is_not_reported(code: str) -> None:
    result = analyze(pages.read_page(page(code)).good, extra=family(code))
    assert (result.findings, result.problem) == ((), None)


# The shipped examples


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_found_where_it_says(path: Path) -> None:
    source = path.read_text()
    marks = [
        (number, code)
        for number, line in enumerate(source.splitlines(), 1)
        for code in re.findall(r"#.*\b(TIP\d{3})\b", line)
    ]
    assert marks
    assert [(finding.line, finding.code) for finding in analyze(source).findings] == marks


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_does_what_it_says(path: Path, device: torch.device) -> None:
    """Everything in it that is called broken raises, and everything that is called fixed does not."""
    names: dict[str, Any] = {"__name__": path.stem}
    with device:
        exec(compile(path.read_text(), str(path), "exec"), names)
    broken = [value for name, value in names.items() if name.lower().endswith("broken")]
    fixed = [value for name, value in names.items() if name.lower().endswith("fixed")]
    assert broken
    assert fixed
    for value in broken:
        with device, pytest.raises(RuntimeError, match="modified by an inplace operation"):
            names["train"](value)
    for value in fixed:
        with device:
            names["train"](value)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_ends_in_the_error(path: Path, device: torch.device) -> None:
    """Run as a script, it is done with the fixed version and stops at the broken one."""
    with device, pytest.raises(RuntimeError) as raised:
        exec(compile(path.read_text(), str(path), "exec"), {"__name__": "__main__"})
    calls = [frame.line for frame in traceback.extract_tb(raised.tb) if frame.filename == str(path)]
    assert "roken)" in str(calls[0])


# README, CHANGELOG and what else names the same things


def output(folder: str, arguments: str) -> str:
    command = [sys.executable, *arguments.split()]
    plain = {**os.environ, "COLUMNS": "100", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT / folder, env=plain, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600
    )
    assert "Traceback" not in done.stdout
    return PROGRESS.sub("", done.stdout)


@pytest.mark.parametrize(
    ("folder", "command", "shown"), [found for page in PAGES for found in CONSOLE.findall(page.read_text())]
)
def test_console_excerpts_are_real(folder: str, command: str, shown: str) -> None:
    assert output(folder, command) == shown


def test_the_first_screen_needs_no_scrolling() -> None:
    """A code block of a README has room for 97 characters on GitHub, which wraps none."""
    first = README.read_text().partition("## Install")[0]
    assert max(len(line) for block in re.findall(r"```.*\n((?:.*\n)*?)```", first) for line in block.splitlines()) <= 97


@pytest.mark.parametrize("name", ["api", "how-it-works", "memory", "runtime"])
def test_python_examples_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One after the other, as a reader would; what a comment behind `print` says is printed."""
    blocks = fenced((ROOT / "docs" / f"{name}.md").read_text(), "python")
    names: dict[str, Any] = {"model": torch.nn.Linear(3, 3), "batch": torch.ones(2, 3)}
    assert blocks
    for block in blocks:
        exec(compile(block, f"{name}.md", "exec"), names)
        said = [re.sub(r"^bytes: ", "", words) for words in re.findall(r"print\(.*\) +# (.*)", block)]
        assert capsys.readouterr().out.splitlines() == said


@pytest.mark.skipif(sys.platform == "win32" or shutil.which("git") is None, reason="a shell, and git")
def test_adopting_works_as_it_says(tmp_path: Path) -> None:
    """The commands of the page, in order, in a repository of its own; then a new finding, and a mended one."""
    yaml = pytest.importorskip("yaml")
    page = (ROOT / "docs" / "adopting.md").read_text()
    code, changed = tmp_path / "code", tmp_path / "code" / "changed.py"
    shutil.copytree(ROOT / "docs" / "examples", code)
    hazard = (ROOT / "docs" / "evidence" / "block.py").read_text()
    changed.write_text(hazard.replace("gate *= 2", "gate = gate * 2"))
    identity = "-c user.name=me -c user.email=me@example.org"
    shell(f"git init -q -b main . && git add . && git {identity} commit -q -m first", tmp_path)
    changed.write_text(hazard)
    steps = [line for block in fenced(page, "sh") for line in block.splitlines()]
    diff, look, show, mend, write, check, silence, verify = steps
    assert verify == "flake8-inplace verify train.py"  # tests/test_verify.py
    first = shell(diff, tmp_path)
    assert (first.returncode, first.stdout.count(": TIP")) == (1, 1)
    for step, status in ((look, 1), (show, 1), (mend, 1), (write, 0), (check, 0)):
        assert shell(step, tmp_path).returncode == status, step
    [hook] = yaml.safe_load(fenced(page, "yaml")[0])["repos"][0]["hooks"]
    assert shell(f"{hook['entry']} code/residual_block.py", tmp_path).returncode == 0
    (code / "new.py").write_text((ROOT / "docs" / "examples" / "silu_recipe.py").read_text())
    (code / "silu_recipe.py").rename(code / "moved.py")
    done = shell(check, tmp_path)
    assert (done.returncode, done.stdout.count(": TIP")) == (1, 2)
    assert "1 entry no longer matches" in done.stderr
    assert shell(silence, tmp_path).returncode == 0
    assert shell(look, tmp_path).returncode == 0


def shell(line: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command line in a shell that finds this `flake8-inplace`."""
    programs = folder / ".bin"
    programs.mkdir(exist_ok=True)
    program = programs / "flake8-inplace"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m flake8_inplace "$@"\n')
    program.chmod(0o755)
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    return subprocess.run(["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


def test_every_script_of_found_is_shown_with_its_words() -> None:
    """`tests/benchmarks/found.py` runs them: that takes the libraries."""
    text = (ROOT / "docs" / "found.md").read_text()
    for path in sorted((ROOT / "docs" / "found").glob("[a-z]*.py")):
        assert f"](found/{path.name})" in text
        shown = re.search(rf"^\$ python docs/found/{path.name}\n((?:[^$`].*\n)+)", text, re.MULTILINE)
        assert shown is not None, path.name
        assert all("confirmed: " in line and "not confirmed" not in line for line in shown[1].splitlines()), path.name


def test_rows_of_the_notation_are_valid() -> None:
    text = (ROOT / "docs" / "adding-an-op.md").read_text()
    rows = re.findall(r"`(\w+\|[^`]+)`", text)
    assert len(rows) >= 2
    for row in rows:
        assert notation.format_op(notation.parse_op(row)) == row


def test_setup_commands() -> None:
    """Exactly two commands do all the set-up, and CI runs these."""
    assert [line for block in fenced(README.read_text(), "sh") for line in block.splitlines()] == SETUP
    script = (ROOT / ".ci" / "run").read_text()
    assert [command for command in SETUP if command not in script] == []


def test_table_of_rules() -> None:
    assert ROWS.findall(README.read_text()) == [table_of_rules()]


def table_of_rules() -> str:
    rows = [
        f"| [{rule.code}](docs/rules/{rule.code}.md) | {rule.summary} | {'off' if rule.family else 'on'} |\n"
        for rule in RULES.values()
    ]
    return "".join(rows)


INDEX = ROOT / "docs" / "rules.md"
TABLES = re.compile(r"^## (TIP\d).*\n\n((?:\|.*\n)+)", re.MULTILINE)


def test_index_of_rules() -> None:
    """A table a family; what stands in it is said by the rules and shown by their pages."""
    tables = dict(TABLES.findall(INDEX.read_text()))
    families = {code[:4] for code in RULES if code != "TIP000"}
    assert tables == {family: index_of(family) for family in sorted(families)}


def index_of(family: str) -> str:
    """The rows of a family. The example is the line that is reported in the bad program of the page."""
    head = "| rule | what it reports | example | default | fix |\n|---|---|---|---|---|\n"
    rows = [
        f"| [{rule.code}](rules/{rule.code}.md) | {rule.summary} | `{reported(rule.code)}` "
        f"| {'off' if rule.family else 'on'} | {'none' if rule.fix == 'never' else rule.fix} |\n"
        for rule in RULES.values()
        if rule.code.startswith(family)
    ]
    return head + "".join(rows)


def reported(code: str) -> str:
    bad = pages.read_page(page(code)).bad
    [found] = analyze(bad, extra=family(code)).findings
    return bad.split("\n")[found.line - 1].strip()


def title(code: str) -> str:
    return f"# {code}: {RULES[code].summary}"


def test_snippets_parse() -> None:
    yaml = pytest.importorskip("yaml")
    text = README.read_text()
    assert all(json.loads(block) for block in fenced(text, "json"))
    snippets = [yaml.safe_load(block) for block in fenced(text, "yaml")]
    assert len(snippets) == 3
    assert 'lint.external = ["TIP"]' in fenced(text, "toml")[0]


def test_links_lead_somewhere() -> None:
    for path in [README, *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


PROSE = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PACKAGE = ROOT / "flake8_inplace"
ROOMS = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()} - {"report"}  # a variable


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.stem)
def test_files_and_modules_are_there(path: Path) -> None:
    """Files by their paths from the root, the package or `docs`, and modules and what is in them by dotted names."""
    text = path.read_text()
    places = (ROOT, PACKAGE, ROOT / "docs")
    folders = {found.name for place in places for found in place.iterdir() if found.is_dir()}
    quoted = re.findall(r"`(\w[\w.-]*/[\w./-]*)`", text)
    files = [name for name in quoted if name.endswith(".py") or name.split("/")[0] in folders]
    assert [name for name in files if not any((place / name).exists() for place in places)] == []
    quoted = [name for name in re.findall(r"`(\w+(?:\.\w+)+)`", text) if name.split(".")[0] in ROOMS]
    names = [name for name in quoted if not name.endswith((".py", ".json", ".md"))]
    names += re.findall(r"\bflake8_inplace\.([\w.]*\w)", text)
    assert [name for name in names if not is_there(name)] == []


def is_there(name: str) -> bool:
    try:
        pkgutil.resolve_name(f"flake8_inplace.{name}")
    except (ImportError, AttributeError):
        return False
    return True


def test_changelog_names_every_rule() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    text = re.sub(r"TIP(\d)(\d\d) to TIP\1(\d\d)", lambda m: all_between(m[1], m[2], m[3]), text)
    assert [code for code in RULES if code not in text] == []
    assert "## [Unreleased]" in text or f"## [{flake8_inplace.__version__}]" in text


def all_between(family: str, first: str, last: str) -> str:
    return " ".join(f"TIP{family}{number:02}" for number in range(int(first), int(last) + 1))


def _run_again(excerpt: re.Match[str]) -> str:
    cd = f"$ cd {excerpt[1]}\n" if excerpt[1] else ""
    return f"```console\n{cd}$ python {excerpt[2]}\n{output(excerpt[1] or '', excerpt[2])}```"


def main() -> None:
    README.write_text(ROWS.sub(lambda _: table_of_rules(), README.read_text()))
    text = INDEX.read_text()
    INDEX.write_text(TABLES.sub(lambda m: m[0].replace(m[2], index_of(m[1])), text))
    for page in PAGES:
        page.write_text(CONSOLE.sub(_run_again, page.read_text()))
    for path in (ROOT / "docs" / "rules").glob("*.md"):
        first, rest = path.read_text().split("\n", 1)
        path.write_text(f"{title(path.stem) if path.stem in RULES else first}\n{rest}")


if __name__ == "__main__":
    main()


def test_every_module_is_on_the_map() -> None:
    """The map and the guide to models say what each module is for; subcommands have names that say it."""
    folder = Path(flake8_inplace.__file__).parent
    text = "".join((ROOT / "docs" / f"{name}.md").read_text() for name in ("how-it-works", "adding-a-model"))
    paths = [path.relative_to(folder) for path in folder.rglob("*.py") if not path.stem.startswith("__")]
    missing = []
    for path in paths:
        names = {path.as_posix(), path.name} if path.parts[0] in ("models", "hazards") else {path.as_posix()}
        if path.parts[0] != "commands" and not any(f"`{name}`" in text for name in names):
            missing.append(path.as_posix())
    assert missing == []
