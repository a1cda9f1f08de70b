"""The flake8 plugins, and the guard that every run of the analysis stands behind."""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from multiprocessing import parent_process
from pathlib import Path
from typing import TYPE_CHECKING

from flake8.exceptions import ExecutionError
from flake8.options.config import _find_config_file

from . import __version__, stored
from .analysis import Program, Result, analyze
from .cache import Cache, may_hold
from .cpython import settle, uncollected, with_room
from .finding import Finding, Fix, Place
from .program.imports import Project
from .program.scan import FRAMEWORKS
from .program.sights import digest
from .rules import RULES, UNREADABLE, named
from .torchfacts import ops

if TYPE_CHECKING:
    from flake8.options.manager import OptionManager

KEPT = 2000
"""After how many files a process forgets what it knows of them, so that a long run takes no more and more memory."""
_files = count()
REPORTED = ("all", "certain")
"""The values of the option `inplace-report`."""
Report = tuple[int, int, str, type[object]]


@dataclass(frozen=True, slots=True)
class Settings:
    """What the configuration of flake8 says: packages that bring tensors, families, and which imports are followed."""

    frameworks: frozenset[str] = FRAMEWORKS
    extra: frozenset[str] = frozenset()
    follow: tuple[str, ...] | None = ()  # installed packages to follow imports into; None to follow none at all
    roots: tuple[str, ...] = ()  # more folders that imports are looked for in
    cache: str = ""  # the folder in which results are kept; none are without one


class Checker:
    """What flake8 builds once for each file: the rules that are on by default."""

    name = "flake8-inplace"
    version = __version__
    settings = Settings()
    families: frozenset[str] = frozenset({""})
    """The families that this plugin reports. ``--extend-select`` adds one, as ``enable-extensions`` would."""
    apart: frozenset[str] = frozenset()
    """The families that a plugin of their own reports."""
    alone = True
    """Whether flake8 runs it, and not the command ``flake8-inplace``, which reads pyproject.toml."""
    only_certain = False
    """Whether findings that need more than a backward are left out."""
    latest: tuple[str, str, Settings, Result] | None = None

    def __init__(self, tree: ast.Module, lines: list[str], filename: str = "") -> None:
        self.tree = tree
        self.lines = lines
        self.filename = filename

    @staticmethod
    def add_options(parser: OptionManager) -> None:
        """Called by flake8 once."""
        parser.add_option(
            "--inplace-ops",
            metavar="FILE",
            default="",
            parse_from_config=True,
            normalize_paths=True,
            help="operators and modules of your own that save, write or alias tensors; the format is that of ops.json",
        )
        parser.add_option(
            "--inplace-frameworks",
            metavar="PACKAGES",
            default="",
            parse_from_config=True,
            comma_separated_list=True,
            help="packages over torch: a file that imports one of them is analysed even if it does not import torch",
        )
        parser.add_option(
            "--inplace-follow",
            metavar="NAMES",
            default="project",
            parse_from_config=True,
            comma_separated_list=True,
            help="which imports are followed: `project` (default), `off`, or installed packages to read as well",
        )
        parser.add_option(
            "--inplace-path",
            metavar="DIRS",
            default="",
            parse_from_config=True,
            comma_separated_list=True,
            normalize_paths=True,
            help="more folders that imports of the project are looked for in",
        )
        parser.add_option(
            "--inplace-report",
            metavar="WHICH",
            default="all",
            parse_from_config=True,
            help="which findings are reported: `all` (default), or `certain`: those that any backward runs into",
        )
        parser.add_option(
            "--inplace-torch",
            metavar="RELEASE",
            default="",
            parse_from_config=True,
            help="the release of PyTorch that the code runs with, such as 2.6; the newest that is known by default",
        )
        parser.add_option(
            "--inplace-cache",
            metavar="DIR",
            default="",
            parse_from_config=True,
            normalize_paths=True,
            help="a folder to keep results in, for the next run; by default, flake8 keeps none",
        )

    @staticmethod
    def parse_options(options: argparse.Namespace) -> None:
        """Called by flake8 once in every process. Raises ExecutionError where a value cannot be used."""
        if options.inplace_torch:
            try:
                ops.select(options.inplace_torch)
            except ValueError as error:
                raise ExecutionError(f"inplace-torch: {error}") from error
        if options.inplace_ops:
            try:
                ops.extend(beside_configuration(options.inplace_ops, options.config))
            except ops.FactsError as error:
                raise ExecutionError(f"inplace-ops: {error}") from error
        if options.inplace_report not in REPORTED:
            raise ExecutionError(f"inplace-report: {options.inplace_report!r} is neither 'all' nor 'certain'")
        Checker.only_certain = options.inplace_report == "certain"
        kept = os.path.abspath(options.inplace_cache) if options.inplace_cache else ""
        if kept and not may_hold(kept):
            raise ExecutionError(f"inplace-cache: {options.inplace_cache} is no cache, and not empty")
        if Checker.alone and parent_process() is None and _is_configured_in_vain():
            said = "pyproject.toml: flake8 does not read [tool.flake8-inplace]; `flake8-inplace check` does"
            print(said, file=sys.stderr)
        names = [name for name in options.inplace_follow if name]
        follow = None if names == ["off"] else tuple(name for name in names if name != "project")
        packages = FRAMEWORKS | frozenset(filter(None, options.inplace_frameworks))
        roots = tuple(filter(None, options.inplace_path))
        chosen = named((*(options.select or ()), *(options.extend_select or ())))
        Checker.families = frozenset({"", *chosen})
        extra = Checker.settings.extra | chosen
        Checker.settings = replace(
            Checker.settings, frameworks=packages, extra=extra, follow=follow, roots=roots, cache=kept
        )

    def run(self) -> Iterator[Report]:
        """Yield line, column from 0, text and type of every finding."""
        yield from check(self, self.families - Checker.apart)


class Extension:
    """A family of rules that is off until `enable-extensions` names it."""

    version = __version__
    off_by_default = True
    family: str

    def __init__(self, tree: ast.Module, lines: list[str], filename: str = "") -> None:
        self.tree = tree
        self.lines = lines
        self.filename = filename

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Called by flake8 where this family is switched on, and only there."""
        Checker.apart |= {cls.family}
        Checker.settings = replace(Checker.settings, extra=Checker.settings.extra | {cls.family})

    def run(self) -> Iterator[Report]:
        """As `Checker.run`."""
        yield from check(self, frozenset({self.family}))


class Possible(Extension):
    """What code that is not shown may do."""

    name = "flake8-inplace-possible"
    family = "possible"


class Style(Extension):
    """Bans for teams that want them."""

    name = "flake8-inplace-style"
    family = "style"


def _is_configured_in_vain() -> bool:
    """Whether there is a pyproject.toml with a table that only the command reads."""
    try:
        return "[tool.flake8-inplace]" in Path("pyproject.toml").read_text("utf-8", "replace")
    except OSError:
        return False


def beside_configuration(path: str, config: str | None) -> str:
    """Return a path from the configuration, relative to the file that it stands in, if there is such a file.

    flake8 resolves values with a slash only; ``inplace-ops = own.json`` would be looked for where flake8 runs.
    """
    found = config or _find_config_file(os.getcwd())
    beside = os.path.join(os.path.dirname(found), path) if found else path
    return beside if os.path.exists(beside) else path


def check(plugin: Checker | Extension, families: frozenset[str]) -> Iterator[Report]:
    """The findings of one plugin in one file: those of its families. Rules that are on by default are of family ""."""
    found = findings("".join(plugin.lines), plugin.tree, plugin.filename)
    settle("libcst" in sys.modules, next(_files))
    for finding in found:
        if RULES[finding.code].family in families:
            yield finding.line, finding.column, f"{finding.code} {finding.text}", type(plugin)


def findings(text: str, tree: ast.Module | None = None, filename: str = "") -> list[Finding]:
    """What is found in the text of one file. What could not be read is a finding too: nothing is raised."""
    try:
        result = analysed(text, tree, filename)
    except SyntaxError as error:  # flake8 never hands such a file over; the command line does
        return [unreadable(Place(error.lineno or 1, max((error.offset or 1) - 1, 0)), f"not valid Python: {error.msg}")]
    except Exception as error:  # whatever goes wrong here must not end the lint of all other files
        return [unreadable(Place(1, 0), f"error in flake8-inplace: {short(error) or type(error).__name__}")]
    for row in result.readings:
        print(f"{filename or '-'}: {row}", file=sys.stderr)
    problems = [unreadable(*result.problem)] if result.problem is not None else []
    found = [finding for finding in result.findings if not (Checker.only_certain and finding.conditions)]
    return [*problems, *found]


def short(error: Exception) -> str:
    """What an error says, in one line; nothing where it holds a piece of the program, whose text may have no end."""
    plain = all(isinstance(part, (str, int)) for part in error.args)
    return " ".join(str(error).split())[:120] if plain else ""


def unreadable(place: Place, reason: str) -> Finding:
    return Finding(UNREADABLE.code, place, (f"{UNREADABLE.summary}: {reason}",))


def analysed(text: str, tree: ast.Module | None, filename: str) -> Result:
    """Analyse a file; flake8 asks once for each plugin, one after the other."""
    settings = Checker.settings
    if Checker.latest is None or Checker.latest[:3] != (text, filename, settings):
        with uncollected():
            Checker.latest = text, filename, settings, with_room(in_project, text, tree, filename)
    return Checker.latest[3]


def in_project(text: str, tree: ast.Module | None, filename: str) -> Result:
    """Analyse a file as a part of its project, or by itself. The text that is given wins over the one on disk."""
    settings, path = Checker.settings, path_of(filename)
    found = remembered(text, filename)
    if found is None:
        if path:
            found = program(settings).analyze(text, tree, path)
        else:
            found = analyze(text, tree, settings.frameworks, settings.extra)
        if settings.cache and found.complete:
            memory(settings).keep(_question(text, path), stored.written(found))
    return found


@contextmanager
def trial(filename: str) -> Iterator[tuple[Callable[[str], Result], str]]:
    """Yield what analyses texts that are tried for a file of a project, and the path of the file.

    The other files are as the disk and the editor have them.
    """
    path = path_of(filename)
    with program(Checker.settings).trial(path) as analyse:

        def analysed(text: str) -> Result:
            with uncollected():
                return with_room(analyse, text)

        yield analysed, path


def path_of(filename: str) -> str:
    """The path of a file whose imports are followed; nothing for one that is read by itself."""
    return os.path.abspath(filename) if filename and Checker.settings.follow is not None else ""


# What earlier runs found


def remembered(text: str, filename: str) -> Result | None:
    """Return the cached result for a file, or None. Unsaved texts of other files make the cache useless."""
    settings, path = Checker.settings, path_of(filename)
    if not settings.cache or (path and program(settings).modules.project.is_unsaved()):
        return None
    try:
        known = memory(settings).find(_question(text, path))
        return None if known is None else stored.read(known)
    except (ValueError, LookupError, TypeError):  # not written by us
        return None


def remembered_fixes(text: str, found: Sequence[Finding]) -> tuple[Fix | None, ...] | None:
    """Return the cached fixes of the findings in a text, or None."""
    try:
        known = memory(Checker.settings).find(_question(text, "", found))
        return None if known is None else stored.read_fixes(known)
    except (ValueError, LookupError, TypeError):
        return None


def keep_fixes(text: str, found: Sequence[Finding], fixes: Sequence[Fix | None]) -> None:
    """Keep fixes for the next run, unless the text was not read to the end: another run may get further."""
    if Checker.settings.cache and not any(finding.code == UNREADABLE.code for finding in found):
        memory(Checker.settings).keep(_question(text, "", found), stored.written_fixes(fixes))


def _question(text: str, path: str, found: Sequence[Finding] = ()) -> str:
    return json.dumps([digest(text), path, *map(stored.written_finding, found)])


def program(settings: Settings) -> Program:
    """The program that the files of this process are parts of. After `KEPT` files it forgets what it knows of them."""
    arguments = settings, ops.taken(), os.getcwd()
    found = _program(*arguments)
    if found.size <= KEPT or found.modules.project.is_unsaved():
        return found
    del found
    _program.cache_clear()
    gc.unfreeze()
    gc.collect()
    return _program(*arguments)


@cache
def _program(settings: Settings, facts: tuple[str, ...], folder: str) -> Program:
    sights = memory(settings).sights if settings.cache else None
    project = Project(folder, settings.roots, settings.follow or (), sights=sights)
    return Program(project, settings.frameworks, settings.extra)


def memory(settings: Settings) -> Cache:
    """Return the cache for these settings."""
    return _memory(settings, ops.taken(), os.getcwd())


@cache
def _memory(settings: Settings, facts: tuple[str, ...], folder: str) -> Cache:
    path = sys.path if settings.follow else []  # where installed packages are looked for
    chosen = (sorted(settings.frameworks), sorted(settings.extra), settings.follow, settings.roots, path)
    return Cache(settings.cache, stored.key(facts, folder, chosen))
