"""``flake8-inplace check``: the findings of the plugin, in every format."""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from time import thread_time

from ..checker import (
    Checker,
    findings,
    keep_fixes,
    path_of,
    program,
    remembered,
    remembered_fixes,
    trial,
    unreadable,
)
from ..cli import INTERRUPTED, USAGE_ERROR
from ..files import Project, Source, UsageError
from ..finding import Finding, Fix, Place
from ..formats import FORMATS
from ..program.imports import imported
from ..report import Entry, concise, entries, relative_path
from ..rules import RULES, UNREADABLE
from ..trace.budget import SECONDS
from . import workers
from .baseline import Baseline, gone, merged, read_baseline
from .changed import concerns, read_diff
from .common import (
    USAGE,
    add_files,
    add_jobs,
    add_no_cache,
    begin,
    coloured,
    complain,
    count,
    flake8_arguments,
    read,
    reason,
    show,
    start,
)
from .common import write as write_file
from .configuration import configured

WITH_FIXES = frozenset({"text", "json", "sarif"})
"""Formats that show what to write instead."""


def main(arguments: Sequence[str]) -> int:
    """Lint, report, and return 0, 1 (something was found), 2 (something could not be read) or 130 (Ctrl-C)."""
    parser = parsed()
    try:
        given = parser.parse_args([*configured(), *arguments])
        if given.write_baseline and not given.baseline:
            parser.error("--write-baseline needs --baseline FILE")
        if given.add_noqa and "-" in given.paths:
            parser.error("--add-noqa writes files, and standard input is none")
        if given.watch:
            if "-" in (*given.paths, given.diff) or given.write_baseline or given.add_noqa:
                parser.error("--watch goes with neither standard input nor --write-baseline nor --add-noqa")
            if missing := [path for path in given.paths if not os.path.exists(path)]:
                parser.error(f"--watch waits for changes of files, and there is no {missing[0]}")
            return importlib.import_module(".watch", __package__).main(given)  # type: ignore[no-any-return]
        return report(given)
    except UsageError as error:
        complain(str(error))
    return USAGE_ERROR


def parsed() -> argparse.ArgumentParser:
    about = "Lint files, notebooks or standard input."
    parser = argparse.ArgumentParser("flake8-inplace check", USAGE, about)
    add = parser.add_argument
    add("--format", "--output-format", choices=FORMATS, default="text", help="format of the report; default: text")
    add("--output-file", metavar="FILE", help="write the report there, over what it held")
    add("--quiet", "-q", action="store_true", help="one line for each finding, and nothing else")
    add("--exit-zero", action="store_true", help="exit with status 0 even if something is found")
    add("--diff", metavar="FILE", help="report only what concerns the lines changed by this diff; - is standard input")
    add_jobs(parser)
    add_no_cache(parser)
    add("--write-baseline", action="store_true", help="write the findings to the file of --baseline")
    add("--watch", action="store_true", help="lint again whenever a file changes, until Ctrl-C")
    add("--add-noqa", action="store_true", help="add a noqa comment to each line with a finding")
    add("--statistics", action="store_true", help="count the findings of each rule on standard error")
    add("--color", choices=("auto", "always", "never"), default="auto", help="default: auto, on a terminal only")
    add("--explain-imports", action="store_true", help="print what each import of the files came to, and lint nothing")
    add_files(parser)
    return parser


@dataclass(slots=True)
class Run:
    """A run over the files: what was found so far, and in which files."""

    found: list[Entry]
    linted: set[str]
    complete: bool = True
    stopped: bool = False

    @property
    def files(self) -> str:
        return count(len(self.linted), "file")


def report(given: argparse.Namespace) -> int:
    """Lint and write what was asked for. Raises UsageError."""
    changed = read_diff(given.diff) if given.diff else None
    if changed is not None and not given.paths:
        given.paths = [path for path in changed if path.endswith((".py", ".ipynb")) and Path(path).is_file()]
        if not given.paths:
            return 0
    files, complete = begin(given, caches=not given.no_cache)
    if given.explain_imports:
        show("".join(f"{row}\n" for path in files.paths() for row in explained(files, path)))
        return 0
    known = known_findings(given)
    run = Run([], set(), complete)
    lint(files, given, run)
    if given.write_baseline:
        return write_baseline(given.baseline, known, run)
    fresh = [entry for entry in run.found if entry.fingerprint not in known]
    if changed is not None:
        fresh = [entry for entry in fresh if concerns(entry, changed)]
    if given.add_noqa and not run.stopped:
        from .noqa import add_noqa  # libcst, which a run that finds all in the cache does not need

        complain(f"added noqa comments to {count(add_noqa(files, fresh), 'line')}")
        return 0 if run.complete else USAGE_ERROR
    publish(given, fresh, run)
    if run.stopped:
        return INTERRUPTED
    if old := gone(known, run.found, run.linted):
        matches = "entry no longer matches" if len(old) == 1 else "entries no longer match"
        complain(f"{given.baseline}: {len(old)} {matches}; remove with --write-baseline")
    return USAGE_ERROR if not run.complete else int(bool(fresh) and not given.exit_zero)


def publish(given: argparse.Namespace, fresh: Sequence[Entry], run: Run) -> None:
    """Write the report. Raises UsageError."""
    colour = coloured(given.color, given.output_file)
    text = concise(fresh, colour) if is_brief(given) else FORMATS[given.format](fresh, colour)
    if given.format == "text" and not given.quiet and not run.stopped:
        text += ("\n" if fresh else "") + f"{closing(fresh, run)}\n"
    if given.output_file:
        write_file(given.output_file, text)
    else:
        show(text)
    if run.stopped:
        complain(f"stopped after {run.files}")
    if given.statistics:
        print(statistics(fresh), end="", file=sys.stderr)


def is_brief(given: argparse.Namespace) -> bool:
    """Whether the report is one line for each finding, without what to write instead."""
    return bool(given.quiet and given.format == "text")


def closing(fresh: Sequence[Entry], run: Run) -> str:
    """The last line of a report."""
    if fresh:
        return f"{count(len(fresh), 'finding')} in {run.files}"
    if not run.linted:
        return "No files"
    number = len(run.linted)
    return f"All {number} files clean" if number > 1 else "1 file clean"


def statistics(found: Sequence[Entry]) -> str:
    """How often each rule was found, the most frequent first."""
    counts = Counter(entry.code for entry in found)
    return "".join(f"{number:>5} {code} {RULES[code].summary}\n" for code, number in counts.most_common())


def known_findings(given: argparse.Namespace) -> Baseline:
    """The findings of the baseline. One that is to be written need not be there yet. Raises UsageError."""
    if not given.baseline or (given.write_baseline and not os.path.exists(given.baseline)):
        return {}
    return read_baseline(given.baseline)


def write_baseline(path: str, known: Baseline, run: Run) -> int:
    """Write the findings of the linted files over those that the baseline has of them. Raises UsageError."""
    if run.stopped or not run.complete:
        complain(f"{path}: not written, because not every file was read")
        return INTERRUPTED if run.stopped else USAGE_ERROR
    write_file(path, merged(known, run.found, run.linted))
    kept = len(known) - len(gone(known, (), run.linted))
    beside = f", and kept {kept} of files that were not linted" if kept else ""
    them = "it" if len(run.found) == 1 and not beside else "them"
    complain(f"wrote {count(len(run.found), 'finding')} to {path}{beside}; future runs ignore {them}")
    return 0


# Linting


@dataclass(frozen=True, slots=True)
class Task:
    """One text to examine. ``fixes``: say what to write instead, too."""

    source: Source
    fixes: bool

    @property
    def text(self) -> str:
        return self.source.text

    @property
    def path(self) -> str:
        return "" if self.source.origins else self.source.path


@dataclass(frozen=True, slots=True)
class Examined:
    """What one process says of one text. ``fixes`` run along with ``findings``."""

    findings: tuple[Finding, ...]
    fixes: tuple[Fix | None, ...]


def lint(files: Project, given: argparse.Namespace, run: Run) -> None:
    """Lint every file, and note what counts. Ctrl-C ends it early. Not all texts are held at once."""
    fixes = given.format in WITH_FIXES and not (is_brief(given) or given.write_baseline or given.add_noqa)
    try:
        rest = files.paths() if given.no_cache else fresh(files, fixes, run)
        tasks = (task(source, fixes) for _, source in sources(files, rest, run))
        arguments = flake8_arguments(given), not given.no_cache
        results = workers.each(examine, tasks, len(rest), given.jobs, died, start, arguments)
        for done, examined in workers.progress(results, len(rest)):
            note(files, run, done.source, examined)
    except KeyboardInterrupt:
        run.stopped = True
    run.found.sort(key=lambda entry: entry.path)


def fresh(files: Project, fixes: bool, run: Run) -> list[str]:
    """The paths that the cache has nothing of; of the others, what it has is noted."""
    rest = []
    for path, source in sources(files, files.paths(), run):
        if (examined := remembered_of(task(source, fixes))) is None:
            rest.append(path)
        else:
            note(files, run, source, examined)
    return rest


def sources(files: Project, paths: Sequence[str], run: Run) -> Iterator[tuple[str, Source]]:
    """Each file that can be read, with its text."""
    for path in paths:
        if (source := read(files, path)) is not None:
            yield path, source
        else:
            run.complete = False


def note(files: Project, run: Run, source: Source, examined: Examined) -> None:
    """Take note of what was found in a file."""
    run.found += counted(files, source, examined)
    run.linted.add(relative_path(source.path))


def task(source: Source, fixes: bool) -> Task:
    """What to examine of a source. Fixes of a notebook would not be of its own lines."""
    return Task(source, fixes and not source.origins)


def counted(files: Project, source: Source, examined: Examined) -> list[Entry]:
    """The entries of one file that neither the configuration nor a comment silences."""
    said = {place for place, _ in source.problems}
    pairs: list[tuple[Finding, Fix | None]] = [(unreadable(place, why), None) for place, why in source.problems]
    for finding, fix in zip(examined.findings, examined.fixes, strict=True):
        if finding.code != UNREADABLE.code or finding.place not in said:  # of bytes that are no text, one is enough
            pairs.append((finding, fix))
    rows = list(compress(pairs, files.counts(source, [finding for finding, _ in pairs])))
    if not rows:
        return []
    chosen, repairs = zip(*rows, strict=True)
    return entries(source.path, source.text, chosen, source.origins, repairs)


def remembered_of(task: Task) -> Examined | None:
    """Return the cached findings and fixes of one text; None if any of them is missing."""
    if remembered(task.text, task.path) is None:
        return None
    found = tuple(findings(task.text, None, task.path))
    if not found or not task.fixes:
        return Examined(found, (None,) * len(found))
    fixes = remembered_fixes(task.text, found)
    return None if fixes is None else Examined(found, fixes)


def examine(task: Task) -> Examined:
    """Analyse one text. Runs in a process of its own; what it takes and gives can be pickled."""
    found = tuple(findings(task.text, None, task.path))
    if not found or not task.fixes:
        return Examined(found, (None,) * len(found))
    fixes, complete = proposals(task.text, found, task.path)
    if complete:
        keep_fixes(task.text, found, fixes)
    return Examined(found, tuple(fixes))


def died(task: Task) -> Examined:
    """The result for a text whose process died."""
    problem = unreadable(Place(1, 0), "the process that read it died, perhaps for want of memory")
    return Examined((problem,), (None,))


def proposals(text: str, found: Sequence[Finding], path: str) -> tuple[list[Fix | None], bool]:
    """What to write instead of each finding, where there is something, and whether all of it was tried."""
    from ..fix import Repair  # libcst, which a file without findings does not need

    try:
        end = thread_time() + SECONDS
        repair = Repair(text, end=end)
        fixes = [repair.propose(finding) for finding in found]
        late = repair.late
        if path_of(path) and not frozenset(found).issubset(repair.found):
            with trial(path) as tried:
                whole = Repair(text, *tried, end=end)
                for place, finding in enumerate(found):
                    if finding not in repair.found:
                        fixes[place] = whole.propose(finding)
                late = late or whole.late
        if late:
            complain(f"{path}: not every fix is shown: they take too long to try")
        return fixes, not late
    except Exception as error:  # the findings stand, whatever goes wrong with what to do about them
        if any(finding.code != UNREADABLE.code for finding in found):
            complain(f"{path}: no fixes are shown: {reason(error)}")
        return [None] * len(found), False


# Imports


def explained(files: Project, path: str) -> Iterator[str]:
    """One line for each name that a file imports: where it is defined, or why it is not followed."""
    source = read(files, path)
    if source is None:
        return
    try:
        tree = ast.parse(source.text)
    except SyntaxError as error:
        yield f"{path}:{error.lineno or 1}: not valid Python: {error.msg}"
        return
    others = program(Checker.settings).modules
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for variable, target in imported(node):
                for result in others.project.follow(target, os.path.abspath(path)):
                    yield f"{path}:{node.lineno}: {variable}: {result.said(others.name_of)}"
