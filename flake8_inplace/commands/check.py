"""``flake8-inplace check``: the findings of the plugin, in every format."""

from __future__ import annotations

import argparse
import ast
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

from ..checker import Checker, findings, program, unreadable
from ..cli import USAGE_ERROR
from ..files import Project, Source, UsageError
from ..finding import Finding, Fix, Place
from ..program.imports import imported
from ..report import FORMATS, Entry, entries
from ..rules import RULES, UNREADABLE
from .common import add_files, complain, project, read, reason, show, write

#: Formats that show what to write instead.
WITH_FIXES = frozenset({"text", "json", "sarif"})

#: Below this many files, starting processes costs more than it gains.
SEVERAL = 8


def main(arguments: Sequence[str]) -> int:
    """Lint, report, and return 0, 1 (something was found) or 2 (something could not be read)."""
    parser = parsed()
    given = parser.parse_args(arguments)
    if given.write_baseline and not given.baseline:
        parser.error("--write-baseline needs --baseline FILE")
    try:
        return report(given)
    except UsageError as error:
        complain(str(error))
    return USAGE_ERROR


def report(given: argparse.Namespace) -> int:
    """Lint and write what was asked for. Raises UsageError."""
    files = project(given)
    if given.explain_imports:
        show("".join(f"{row}\n" for path in files.paths() for row in explained(files, path)))
        return 0
    known = read_baseline(given.baseline) if given.baseline and not given.write_baseline else {}
    found, complete = lint(files, given.jobs, given.format in WITH_FIXES and not given.write_baseline)
    if given.write_baseline:
        write(given.baseline, baseline(found))
        complain(f"{given.baseline}: {len(found)} findings written; they are not reported as long as they stand there")
        return 0 if complete else USAGE_ERROR
    fresh = [entry for entry in found if entry.fingerprint not in known]
    gone = len(known.keys() - {entry.fingerprint for entry in found})
    text = FORMATS[given.format](fresh, coloured(given.color, given.output_file))
    if given.output_file:
        write(given.output_file, text)
    else:
        show(text)
    if gone:
        complain(f"{given.baseline}: {gone} of its findings are gone; write it again to keep them from coming back")
    if given.statistics:
        print(statistics(fresh), end="", file=sys.stderr)
    return USAGE_ERROR if not complete else int(bool(fresh))


def parsed() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("flake8-inplace check", description="Lint files, notebooks or standard input.")
    parser.add_argument("--format", choices=FORMATS, default="text")
    parser.add_argument("--output-file", metavar="FILE", help="write the report there, over what it held")
    parser.add_argument("--baseline", metavar="FILE", help="report only what does not stand in this file")
    parser.add_argument("--write-baseline", action="store_true", help="write the findings to the file of --baseline")
    parser.add_argument(
        "--jobs", "-j", type=positive, default=os.cpu_count() or 1, help="processes; default: all cores"
    )
    parser.add_argument("--statistics", action="store_true", help="count the findings of each rule on standard error")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    parser.add_argument(
        "--explain-imports", action="store_true", help="print what each import of the files came to, and lint nothing"
    )
    add_files(parser)
    return parser


def positive(word: str) -> int:
    number = int(word)
    if number < 1:
        raise ValueError(word)
    return number


# Linting


@dataclass(frozen=True, slots=True)
class Examined:
    """What one process says of one text. ``fixes`` run along with ``findings``."""

    findings: tuple[Finding, ...]
    fixes: tuple[Fix | None, ...]


def lint(files: Project, jobs: int, fixes: bool) -> tuple[list[Entry], bool]:
    """The entries that count, and whether every file could be read."""
    paths = files.paths()
    sources = [source for path in paths if (source := read(files, path)) is not None]
    found: list[Entry] = []
    for source, examined in zip(sources, examine_all(sources, jobs, fixes), strict=True):
        problems = [unreadable(place, reason) for place, reason in source.problems]
        both = [*problems, *examined.findings]
        offers: list[Fix | None] = [*(None for _ in problems), *examined.fixes]
        rows = list(compress(zip(both, offers, strict=True), files.counts(source, both)))
        if rows:
            chosen, repairs = zip(*rows, strict=True)
            found += entries(source.path, source.text, chosen, source.origins, repairs)
    return found, len(sources) == len(paths)


def examine_all(sources: Sequence[Source], jobs: int, fixes: bool) -> Iterator[Examined]:
    """Every source examined, in order, by as many processes as are worth starting."""
    texts = [(source.text, "" if source.origins else source.path) for source in sources]
    asked = [fixes and not source.origins for source in sources]  # the edits would not be of the notebook's own lines
    if jobs == 1 or len(texts) < SEVERAL:
        yield from progress(map(examine, texts, asked), len(texts))
        return
    yield from progress(in_processes(texts, asked, min(jobs, len(texts))), len(texts))


def in_processes(texts: Sequence[tuple[str, str]], asked: Sequence[bool], jobs: int) -> Iterator[Examined]:
    """Every text examined. Where one brings its process down, those that are left get a process each."""
    done = 0
    try:
        # Ctrl-C is for this process to answer, not for each of them.
        with ProcessPoolExecutor(jobs, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
            for examined in pool.map(examine, texts, asked, chunksize=4):
                yield examined
                done += 1
    except BrokenProcessPool:
        for text, fixes in zip(texts[done:], asked[done:], strict=True):
            yield alone(text, fixes)


def alone(text: tuple[str, str], fixes: bool) -> Examined:
    """One text examined by a process of its own."""
    with ProcessPoolExecutor(1) as pool:
        try:
            return pool.submit(examine, text, fixes).result()
        except BrokenProcessPool:
            died = unreadable(Place(1, 0), "the process that read it died, perhaps for want of memory")
            return Examined((died,), (None,))


def examine(source: tuple[str, str], fixes: bool) -> Examined:
    """Analyse one text, with its path. Runs in a process of its own; what it takes and gives can be pickled."""
    text, path = source
    found = tuple(findings(text, None, path))
    if not found:
        return Examined((), ())
    return Examined(found, tuple(proposals(text, found)) if fixes else (None,) * len(found))


def proposals(text: str, found: Sequence[Finding]) -> list[Fix | None]:
    """What to write instead of each finding, where there is something."""
    from ..fix import Repair  # libcst, which a file without findings does not need

    try:
        repair = Repair(text)
        return [repair.propose(finding) for finding in found]
    except Exception as error:  # the findings stand, whatever goes wrong with what to do about them
        if any(finding.code != UNREADABLE.code for finding in found):
            complain(f"no fixes are shown for one file: {type(error).__name__}: {reason(error)}")
        return [None] * len(found)


def progress(results: Iterable[Examined], total: int) -> Iterator[Examined]:
    """The same results; a run of some length counts them on a terminal."""
    start, shown = time.monotonic(), False
    for number, result in enumerate(results, 1):
        yield result
        if sys.stderr.isatty() and time.monotonic() - start > 2:
            shown = True
            print(f"\r{number}/{total} files", end="", file=sys.stderr, flush=True)
    if shown:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


# Imports


def explained(files: Project, path: str) -> Iterator[str]:
    """One line for each name that a file imports: where it is defined, or why it is not followed."""
    source = read(files, path)
    if source is None:
        return
    try:
        tree = ast.parse(source.text)
    except SyntaxError as error:
        yield f"{path}:{error.lineno or 1}: SyntaxError: {error.msg}"
        return
    others = program(Checker.settings).modules
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for variable, target in imported(node):
                for result in others.project.follow(target, os.path.abspath(path)):
                    yield f"{path}:{node.lineno}: {variable}: {result.said(others.name_of)}"


# Baselines


def read_baseline(path: str) -> dict[str, object]:
    """The entries of a baseline by their fingerprints. Raises UsageError where it is none."""
    try:
        data = json.loads(Path(path).read_text("utf-8"))
        return {row["fingerprint"]: row for row in data["findings"]}
    except FileNotFoundError as error:
        raise UsageError(f"{path}: there is no such baseline; --write-baseline makes one") from error
    except OSError as error:
        raise UsageError(f"{path}: {reason(error)}") from error
    except (ValueError, LookupError, TypeError) as error:
        raise UsageError(f"{path}: not a baseline of flake8-inplace ({type(error).__name__})") from error


def baseline(found: Sequence[Entry]) -> str:
    """One line a finding, in order, so that a review shows what comes and goes."""
    rows = [
        json.dumps({"fingerprint": e.fingerprint, "path": e.path, "code": e.code, "text": e.at.text.strip()})
        for e in found
    ]
    return '{"version": 1, "findings": [\n' + ",\n".join(rows) + "\n]}\n"


# Showing


def coloured(choice: str, path: str | None) -> bool:
    if choice == "auto":
        return path is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return choice == "always"


def statistics(found: Sequence[Entry]) -> str:
    """How often each rule was found, the most frequent first."""
    counts = Counter(entry.code for entry in found)
    return "".join(f"{count:>5} {code} {RULES[code].summary}\n" for code, count in counts.most_common())
