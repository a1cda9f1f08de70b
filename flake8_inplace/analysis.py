"""What a program does to its tensors, read from its text."""

from __future__ import annotations

import ast
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from . import readings
from .finding import Finding, Place
from .hazards import TRIGGERS
from .program.disk import Stamp
from .program.imports import Project, Source
from .program.modules import Modules
from .program.scan import FRAMEWORKS, NOTHING, Outside, handles_tensors, only_imports, scan


@dataclass(frozen=True, slots=True)
class Result:
    """What the analysis of one file found.

    ``reveals`` are the states that calls of ``reveal(x)`` asked for, by line; ``problem`` says where and why a part of
    the file could not be read. ``readings`` say which functions were read, where the environment asks for that.
    ``complete``: this file and its importers were read to the end; if not, another run may get further.
    """

    findings: tuple[Finding, ...] = ()
    reveals: tuple[tuple[int, str], ...] = ()
    problem: tuple[Place, str] | None = None
    readings: tuple[str, ...] = ()
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of a function: how many stand in each file. ``derived``: a backward may come to one of them."""

    derived: bool
    number: dict[str, int]


Spared = tuple[Place, Place]
"""A function, and a write of a leaf that went through in a call of it, because gradients were disabled."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What one file, read from its entry points, shows: ``findings`` by the file that they stand in.

    ``uses`` are its calls of functions of other files, by file and name; ``spared`` the leaves that it lets those
    overwrite under ``no_grad``, by file.
    """

    findings: dict[str, list[Finding]] = field(default_factory=dict)
    uses: dict[tuple[str, str], Calls] = field(default_factory=dict)
    spared: dict[str, set[Spared]] = field(default_factory=dict)
    reveals: tuple[tuple[int, str], ...] = ()
    problem: tuple[Place, str] | None = None
    readings: tuple[str, ...] = ()


class Program:
    """The files of a project, followed from one to the other. One object serves all files of a process.

    What a file shows of others is remembered, so that each is read from its entry points once.
    """

    def __init__(
        self, project: Project, frameworks: frozenset[str] = FRAMEWORKS, extra: frozenset[str] = frozenset()
    ) -> None:
        self.modules = Modules(project, TRIGGERS, frameworks)
        self._frameworks = frameworks
        self._extra = extra
        self._known: dict[str, tuple[Stamp, _Read]] = {}

    @property
    def size(self) -> int:
        """How many files were read from their entry points."""
        return len(self._known)

    def analyze(self, source: str, tree: ast.Module | None, path: str) -> Result:
        """Analyse a file of the project: what it shows of itself, and what the files that import it show of it."""
        project = self.modules.project
        source, tree = _parsed(source, tree)
        if project.text(path) != source:
            self.override(path, source)
        own = self._read(source, tree, path)
        found = list(own.findings.get(path, ()))
        complete = own.problem is None
        importers = self.modules.users.importers(path)
        if found:
            disabled = self._without_grad(tree, path, importers)
            spared = frozenset[Spared]().union(*(self._shown_by(each).spared.get(path, ()) for each in importers))
            if disabled or spared:
                outside = self.modules.outside(source, tree, path)
                again = _read(source, tree, self._extra, path, outside, self.modules, disabled, spared)
                found = again.findings.get(path, [])
        for importer in importers:
            places = {finding.place for finding in found}
            read = self._shown_by(importer)
            shown = read.findings.get(path, ())
            found += [finding for finding in shown if finding.place not in places]
            complete = complete and read.problem is None
        return Result(_in_order(found), own.reveals, own.problem, own.readings, complete)

    def _without_grad(self, tree: ast.Module, path: str, importers: list[str]) -> frozenset[str]:
        """The functions of a file that others call, and only so that no backward comes to what they compute.

        Each mention of one in another file has to be such a call: nobody knows who calls what is handed on.
        """
        names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        called: set[str] = set()
        for importer in importers:
            uses = self._shown_by(importer).uses
            mine = {name: uses[path, name] for name in names if (path, name) in uses}
            called |= mine.keys()
            names -= {name for name, calls in mine.items() if calls.derived}
            mentions = self._mentions(importer) if names else {}
            names -= {name for name in names & mentions.keys() if mentions[name] > _number(mine.get(name), importer)}
        return frozenset(names & called)

    def _mentions(self, path: str) -> Counter[str]:
        """How often a file mentions each name, apart from imports; more often than it calls, if it renames it there."""
        source = self.modules.project.source(path)
        found: Counter[str] = Counter()
        for node in ast.walk(source.tree) if isinstance(source, Source) else ():
            if isinstance(node, ast.Name):
                found[node.id] += 1
            elif isinstance(node, ast.Attribute):
                found[node.attr] += 1
            elif isinstance(node, ast.alias) and node.asname is not None:
                found[node.name] += sys.maxsize  # what is called by the other name is not counted
        return found

    def override(self, path: str, text: str | None) -> None:
        """Let an unsaved text stand for a file; None: the file on disk counts. What followed from the old is lost."""
        self.modules.project.override(path, text)
        self.modules.forget(path)
        self._known.clear()

    @contextmanager
    def trial(self, path: str) -> Iterator[Callable[[str], Result]]:
        """Yield what analyses texts that are tried for a file. Afterwards the program is as before.

        The rest of the disk is taken as it was seen last.
        """
        before, known = self.modules.project.unsaved().get(path), self._known

        def analysed(text: str) -> Result:
            source, tree = _parsed(text, None)
            self._known = {}
            self.modules.replace(path, source)
            return self.analyze(source, tree, path)

        try:
            yield analysed
        finally:
            self.modules.replace(path, before)
            self._known = known

    def _shown_by(self, path: str) -> _Read:
        """Read a file that imports another one. What is wrong with it is said where it is linted itself."""
        project = self.modules.project
        known = self._known.get(path)
        if known is not None and known[0] == project.stamp(path):
            return known[1]
        source = project.source(path)
        try:
            return self._read(source.text, source.tree, path) if isinstance(source, Source) else _Read()
        except Exception as error:
            nothing = _Read(problem=(Place(1, 0), repr(type(error))))
            self._known[path] = (project.stamp(path), nothing)
            return nothing

    def _read(self, source: str, tree: ast.Module, path: str) -> _Read:
        """Read a file from its entry points, once for each text that it has."""
        known, stamp = self._known.get(path), self.modules.project.stamp(path)
        if known is None or known[0] != stamp:
            own = _Read(readings=readings.nothing_read())
            tensors = handles_tensors(source, tree, self._frameworks) or self.modules.users.import_tensors(path)
            if tensors and not only_imports(tree):  # an `__init__.py` may import all of a project
                outside = self.modules.outside(source, tree, path)
                own = _read(source, tree, self._extra, path, outside, self.modules)
            known = self._known[path] = (stamp, own)
        return known[1]


def analyze(
    source: str,
    tree: ast.Module | None = None,
    frameworks: frozenset[str] = FRAMEWORKS,
    extra: frozenset[str] = frozenset(),
) -> Result:
    """Analyse the text of one file by itself: one that imports a package of ``frameworks``.

    ``extra`` are the families that are off by default and wanted all the same: "possible", "style".
    Raises SyntaxError where ``tree`` is not given and the text is no Python.
    """
    source, tree = _parsed(source, tree)
    if not handles_tensors(source, tree, frameworks):
        return Result(readings=readings.nothing_read())
    read = _read(source, tree, extra, "", NOTHING, None)
    findings = _in_order(read.findings.get("", ()))
    return Result(findings, read.reveals, read.problem, read.readings, read.problem is None)


def _parsed(source: str, tree: ast.Module | None) -> tuple[str, ast.Module]:
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    return source, tree if tree is not None else ast.parse(source)


def _in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: (finding.place, finding.code)))


def _number(calls: Calls | None, path: str) -> int:
    return calls.number.get(path, 0) if calls is not None else 0


def _read(
    source: str,
    tree: ast.Module,
    extra: frozenset[str],
    path: str,
    outside: Outside,
    others: Modules | None,
    without_grad: frozenset[str] = frozenset(),
    spared: frozenset[Spared] = frozenset(),
) -> _Read:
    """Read a file from its entry points; of ``others``, what it calls."""
    file = scan(source, tree, TRIGGERS, bool(extra), path, outside)
    if file is None:
        return _Read(readings=readings.nothing_read())
    from .interpreter.schedule import analyse
    from .sentences import ALONE, Files
    from .verdicts import findings

    trace = analyse(file, extra, others, without_grad, spared)
    problem = None
    own = {piece: reason for piece, reason in trace.text.unreadable.items() if piece.path == path}
    if own:
        piece, reason = min(own.items(), key=lambda item: item[0].line)
        problem = (Place(piece.line, 0), reason)
    reveals = tuple((site.piece.tree.place(site.node).line, text) for site, text in trace.reports.reveals)
    files = Files(others.name_of, others.project.is_installed) if others is not None else ALONE
    found = findings(trace.reports.hazards.values(), trace.reports.misuses, files)
    said = readings.explain(file, trace) if os.environ.get(readings.VARIABLE) else ()
    uses = {key: Calls(use.derived, Counter(use.sites.values())) for key, use in trace.work.uses.items()}
    went: dict[str, set[Spared]] = {}
    for function, site in trace.work.spared.values():
        places = (function.piece.tree.place(function.node), site.piece.tree.place(site.node))
        went.setdefault(site.piece.path, set()).add(places)
    trace.close()
    return _Read(found, uses, went, reveals, problem, said)
