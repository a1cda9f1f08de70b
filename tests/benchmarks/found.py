"""Check docs/found.md: its lines are still reported, its scripts still confirm them, and the fixes still mend them.

    python tests/benchmarks/found.py SITES                  # compare the page with what happens
    python tests/benchmarks/found.py SITES --write          # write its excerpts
    python tests/benchmarks/found.py SITES --only timm torchrl

SITES is a folder. Each library is installed into a folder of its own there, by the command in the docstring of its
script; torch is the one that is installed. The linter imports nothing of a library, the scripts do. A fix is applied
in SITES, and taken back.
"""

import argparse
import ast
import difflib
import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "found.md"
SECTION = re.compile(r"^### (?P<library>[\w-]+) (?P<version>\d[\w.]*): .*\n(?P<body>(?:(?!#).*\n)*)", re.MULTILINE)
PLACE = re.compile(r"`([\w/]+\.py):(\d+)`")
SCRIPT = re.compile(r"\]\(found/(\w+)\.py\)")
BLOCKS = re.compile(r"\n```(?:console|text|diff)\n(?:.*\n)*?```\n", re.MULTILINE)
BEFORE, AFTER = 15, 5
"""A fix of a line may stand so many lines before it, or after it."""


@dataclass
class Row:
    """One section of the page. ``places`` are the files and lines that it says are reported, if any."""

    library: str
    version: str
    script: str
    places: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, match: "re.Match[str]") -> "Row":
        [script] = set(SCRIPT.findall(match["body"]))
        row = cls(match["library"], match["version"], script)
        for path, line in PLACE.findall(match["body"]):
            row.places.setdefault(path, []).append(int(line))
        return row

    def site(self, sites: Path) -> Path:
        """The folder that holds the library, which is installed if it is not there."""
        site = sites / f"{self.library}-{self.version}"
        if self.library == "torch":  # which runs the scripts: copies of the files are linted, and mended
            for path in self.places:
                (site / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(importlib.metadata.distribution("torch").locate_file(path)), site / path)
        elif not site.exists():
            said = ast.get_docstring(ast.parse((ROOT / "docs" / "found" / f"{self.script}.py").read_text())) or ""
            [command] = re.findall(r"python -m pip install ((?:.*\\\n)*.*)", said)
            words = shlex.split(command.replace("/tmp/found", shlex.quote(str(site))))
            assert f"{self.library}=={self.version}" in words, f"{self.script}.py installs another version"
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *words], check=True)
        return site


@cache
def reported(site: Path, paths: tuple[str, ...]) -> list[str]:
    """What is reported in the files of a library: in one process, which reads what they import once."""
    return linter("check", "--quiet", "--isolated", "--no-cache", "--jobs=1", *paths, site=site).splitlines()


def linter(command: str, *words: str, site: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "flake8_inplace", command, *words],
        cwd=site,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        stderr=subprocess.DEVNULL,
    )
    assert done.returncode in (0, 1), f"{command} {words}: status {done.returncode}"
    return done.stdout


def run(row: Row, site: Path, results: str) -> tuple[str, int]:
    """What the script prints, and its status."""
    path = "" if row.library == "torch" else str(site)
    done = subprocess.run(
        [sys.executable, f"docs/found/{row.script}.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "FOUND_RESULTS": results},
        capture_output=True,
        text=True,
    )
    if done.returncode not in (0, 1) or "confirmed" not in done.stdout:
        return f"{done.stdout}{done.stderr.splitlines()[-1]}\n", 2
    return done.stdout, done.returncode


@contextmanager
def fixed(row: Row, site: Path) -> Iterator[str]:
    """Apply the fixes of the row's files, and take them back. Yields the part of the diff that is about its lines."""
    if not row.places:
        yield ""
        return
    before = {path: (site / path).read_text() for path in row.places}
    try:
        # A fix is made from its own file alone. To follow imports would only tell what is left.
        linter("fix", "--unsafe-fixes", "--isolated", "--inplace-follow=off", "--jobs=1", *row.places, site=site)
        texts = {path: (site / path).read_text() for path in row.places}
        yield "".join(diff(path, before[path], texts[path], row.places[path]) for path in row.places)
    finally:
        for path, text in before.items():
            (site / path).write_text(text)


def diff(path: str, before: str, after: str, lines: Sequence[int]) -> str:
    """The hunks near some lines, each with one line around it."""
    old, new = before.splitlines(), after.splitlines()
    rows: list[str] = []
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(1):
        first, last = group[0][1] + 1, group[-1][2]
        if not any(first <= line + AFTER and last >= line - BEFORE for line in lines):
            continue
        rows.append(f"@@ line {first} @@")
        for tag, i1, i2, j1, j2 in group:
            rows += [("  " if tag == "equal" else "- ") + row for row in old[i1:i2]]
            rows += [] if tag == "equal" else [f"+ {row}" for row in new[j1:j2]]
    return "".join(f"{row}\n" for row in (f"--- {path}", *rows)) if rows else ""


def excerpts(row: Row, rows: Sequence[Row], sites: Path) -> tuple[str, list[str]]:
    """The blocks of a section, and what is wrong with it."""
    site, wrong = row.site(sites), list[str]()
    paths = {path for other in rows if other.site(sites) == site for path in other.places}
    wanted = [f"{path}:{line}:" for path, lines in row.places.items() for line in lines]
    said_of = reported(site, tuple(sorted(paths))) if wanted else []
    findings = [said for said in said_of if said.startswith(tuple(wanted))]
    wrong += [f"{place} not reported" for place in wanted if not any(said.startswith(place) for said in findings)]
    with tempfile.TemporaryDirectory() as results:
        said, status = run(row, site, results)
        wrong += [f"{row.script}.py: {said.strip()}"] if status else []
        console = f"$ python docs/found/{row.script}.py\n{said}"
        with fixed(row, site) as shown:
            if shown and row.library != "torch":
                console += f"$ python docs/found/{row.script}.py  # with the fix below\n{run(row, site, results)[0]}"
    blocks = (("text", "".join(f"{said}\n" for said in findings)), ("console", console), ("diff", shown))
    return "".join(f"\n```{kind}\n{text}```\n" for kind, text in blocks if text), wrong


def main() -> int:
    parser = argparse.ArgumentParser(description="Check the findings of docs/found.md.")
    parser.add_argument("sites", type=Path)
    parser.add_argument("--only", nargs="+", help="parts of the names of scripts")
    parser.add_argument("--write", action="store_true", help="write the excerpts of the page")
    given = parser.parse_args()
    failed = 0
    found = [(Row.of(match), match[0]) for match in SECTION.finditer(PAGE.read_text())]
    chosen = [pair for pair in found if not given.only or any(part in pair[0].script for part in given.only)]
    for row, old in chosen:
        blocks, wrong = excerpts(row, [each for each, _ in chosen], given.sites.resolve())
        new = BLOCKS.sub("", old).rstrip("\n") + f"\n{blocks}\n"
        if given.write:
            PAGE.write_text(PAGE.read_text().replace(old, new))
        elif old.rstrip("\n") != new.rstrip("\n"):
            wrong.append("the page shows something else")
        print(f"{row.library} {row.version}, {row.script}.py: {'; '.join(wrong) or 'as the page says'}", flush=True)
        failed += bool(wrong)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
