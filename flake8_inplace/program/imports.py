"""From a name that a file imports to the file and name that define it. Nothing is imported, executed or fetched."""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections import OrderedDict
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from . import exports
from .disk import Disk, Reason, Stamp, Unknown
from .exports import Definition, Entry, Exports, Import, Star, imported
from .roots import External, Module, Root, Roots, is_library
from .sights import Sights

__all__ = ["Definition", "Exports", "External", "Import", "Module", "Project", "Reason", "Unknown", "imported"]

MAX_LOOKS = 5_000
"""How many names of modules to look at on the way from one name to what defines it."""
MAX_KEPT = 60_000
"""Characters of source whose trees are remembered; a tree takes about a hundred times the memory of its text."""
_STAR = re.compile(r"import\s*\(?\s*\*")
Result = Definition | Module | External | Unknown
"""What a name comes to."""
_Question = tuple[Module, str, bool]
"""A module, a name in it, and whether a star import asks."""
_Steps = Generator[_Question, list[Result], list[Result]]


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a file and its tree."""

    path: str
    text: str
    tree: ast.Module


@dataclass(slots=True)
class _Trail:
    """One search: ``seen`` are the questions asked, ``perhaps`` what star imports of unknown modules may give."""

    seen: set[_Question] = field(default_factory=set)
    perhaps: list[Result] = field(default_factory=list)


class Project:
    """Follows imports; one object serves all files of a process.

    ``folder`` is the one that flake8 runs in, ``extra`` the option `inplace-path`, ``follow`` the names of installed
    packages to read as well, which are looked for in ``path`` (default: `sys.path`). Answers depend on these, on the
    disk and on the importing file alone. They are remembered until `refresh`; a module is read again if it changed.
    ``sights`` take down all that was seen of the disk, for a cache.
    """

    def __init__(
        self,
        folder: str,
        extra: Sequence[str] = (),
        follow: Iterable[str] = (),
        path: Sequence[str] | None = None,
        sights: Sights | None = None,
    ) -> None:
        self.sights = sights
        self._disk = Disk(sights)
        self._roots = Roots(self._disk, folder, extra, follow, path)
        self._exports: dict[str, tuple[Stamp, Exports | Unknown]] = {}
        self._sources: OrderedDict[str, tuple[Stamp, Source]] = OrderedDict()
        self._answers: dict[_Question, tuple[Result, ...]] = {}
        self._shown: dict[str, frozenset[str] | None] = {}

    def override(self, file: str, text: str | None) -> None:
        """Let the unsaved text of an editor stand for a file, which need not exist. None: the file on disk counts."""
        self._disk.override(self._roots.absolute(file), text)
        self.refresh()

    def replace(self, file: str, text: str | None) -> None:
        """As `override`, where nothing on the disk has changed since. No cache hears of the text."""
        self._disk.replace(self._roots.absolute(file), text)
        self._answers.clear()
        self._shown.clear()

    def unsaved(self) -> dict[str, str]:
        """Return the texts that stand for files, by path."""
        return self._disk.unsaved()

    def is_unsaved(self) -> bool:
        """Whether an unsaved text is another than the file on disk has."""
        return self._disk.is_unsaved()

    def refresh(self) -> None:
        """Look at the disk anew. Modules are only read again if they changed."""
        self._disk.refresh()
        self._roots.refresh()
        self._answers.clear()
        self._shown.clear()

    def roots(self, file: str) -> tuple[Root, ...]:
        """Return the folders that absolute imports of a file are looked for in: see `Roots.roots`."""
        return self._roots.roots(file)

    def top(self, file: str) -> str:
        """Return the folder that holds all of a file's project."""
        return self._roots.top(file)

    def is_installed(self, file: str) -> bool:
        """Whether a file belongs to an installed package."""
        return self._roots.is_installed(file)

    def module_of(self, file: str) -> str:
        """Return the dotted name of a file."""
        return self._roots.module_of(file)

    def resolve(self, dotted: str, from_file: str) -> Module | External | Unknown:
        """Return the module that ``dotted`` means in a file; leading dots make it relative."""
        return self._roots.resolve(dotted, from_file)

    def brought(self, dotted: str, names: Iterable[str], from_file: str) -> Iterator[Module]:
        """Yield the modules that `from dotted import names` runs in a file: the one that is named, and submodules."""
        found = self.resolve(dotted, from_file)
        if isinstance(found, Module):
            yield found
            inner = (self._roots.submodule(found, name) for name in names if found.folders)
            yield from (each for each in inner if each is not None)
        elif isinstance(found, External) and is_library(dotted):  # `code` is Python's, and `code.models` may be ours
            each = (self.resolve(f"{dotted}.{name}", from_file) for name in names)
            yield from (module for module in each if isinstance(module, Module))

    def source(self, file: str) -> Source | Unknown:
        """Return the text and the tree of a file. Few are remembered: keep what you need."""
        path = self._roots.absolute(file)
        stamp = self._disk.stamp(path)
        known = self._sources.get(path)
        if known is not None and known[0] == stamp:
            self._sources.move_to_end(path)
            return known[1]
        self._sources.pop(path, None)
        text = self._disk.read(path)
        if isinstance(text, Unknown):
            return text
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about escapes in strings, which are not the linted file's
                source = Source(path, text, ast.parse(text))
        except (SyntaxError, ValueError):
            return Unknown(Reason.SYNTAX, path)
        except (RecursionError, MemoryError):
            return Unknown(Reason.TOO_DEEP, path)
        self._sources[path] = (stamp, source)
        kept = sum(len(each.text) for _, each in self._sources.values())
        while kept > MAX_KEPT and len(self._sources) > 1:
            kept -= len(self._sources.popitem(last=False)[1][1].text)
        return source

    def stamp(self, file: str) -> Stamp:
        """Return what tells this text of a file from others; None if there is none."""
        return self._disk.stamp(self._roots.absolute(file))

    def text(self, file: str) -> str | Unknown:
        """Return the text of a file, which need not be Python."""
        return self._disk.read(self._roots.absolute(file))

    def exports(self, file: str) -> Exports | Unknown:
        """Return the names that a module binds, or why they are unknown."""
        path = self._roots.absolute(file)
        stamp = self._disk.stamp(path)
        known = self._exports.get(path)
        if known is None or known[0] != stamp:
            known = stamp, self._read(path)
            self._exports[path] = known
        return known[1]

    def find(self, name: str, from_file: str) -> tuple[Result, ...]:
        """Return what a name such as `act` or `layers.act.Swish` of a file comes to: see `look_up`."""
        first, *rest = name.split(".")
        found = self.look_up(self._roots.module_at(from_file), first)
        for part in rest:
            found = _unique(inner for result in found for inner in self._attribute(result, part))
        return found

    def follow(self, name: Import, from_file: str) -> tuple[Result, ...]:
        """Return what an import statement of a file binds its variable to; `imported` has the variables.

        For a star import, that is the module.
        """
        module = self.resolve(name.module, from_file)
        return (module,) if name.name is None or name.name == "*" else self._attribute(module, name.name)

    def look_up(self, module: Module | str, name: str) -> tuple[Result, ...]:
        """Return what a name of a module, or of the module in a file, comes to.

        There are several candidates where several branches bind a name, as in `try: ... except ImportError: ...`:
        first those of the first branch. If any of them may be bound to something unknown, an `Unknown` is among them.
        The answer has at least one element.
        """
        start = self._roots.module_at(module) if isinstance(module, str) else module
        question = (start, name, False)
        if question not in self._answers:
            found = self._run(question, _Trail())
            self._answers[question] = _unique(found or [Unknown(Reason.CIRCLE, f"{start.name}.{name}")])
        return self._answers[question]

    def _read(self, path: str) -> Exports | Unknown:
        source = self.source(path)
        if isinstance(source, Unknown):
            return source
        try:
            return exports.read(source.tree, path, self.module_of(path))
        except RecursionError:
            return Unknown(Reason.TOO_DEEP, path)

    def _attribute(self, result: Result, name: str) -> tuple[Result, ...]:
        if isinstance(result, Module):
            return self.look_up(result, name)
        if isinstance(result, External):
            return (External(f"{result.name}.{name}"),)
        if isinstance(result, Definition):
            return (Unknown(Reason.VALUE, f"{result.name}.{name}"),)
        return (result,)

    def _run(self, question: _Question, trail: _Trail) -> list[Result]:
        """Answer a question and those that it leads to, which may be too many for recursion."""
        running = [self._look(question, trail)]
        answer: list[Result] | None = None
        while running:
            try:
                asked = next(running[-1]) if answer is None else running[-1].send(answer)
            except StopIteration as done:
                running.pop()
                answer = done.value
            else:
                answer = None
                running.append(self._look(asked, trail))
        return answer or []

    def _look(self, question: _Question, trail: _Trail) -> _Steps:
        """What a name of a module comes to. Nothing if it was asked before, or if a star import does not bring it.

        What the module defines goes before its submodules, and these before what it defines for type checkers alone.
        """
        module, name, star = question
        if question in trail.seen:
            return []
        if len(trail.seen) >= MAX_LOOKS:
            return [Unknown(Reason.TOO_FAR, f"{module.name}.{name}")]
        trail.seen.add(question)
        if star and module.path is not None and not self._may_bring(module.path, name):
            return []
        known = self.exports(module.path) if module.path is not None else None
        if not isinstance(known, Exports):
            if known is not None and star:
                trail.perhaps.append(known)
            return [] if star else [self._roots.submodule(module, name) or known or self._roots.missing(module, name)]
        shown = self._all_of(known.path) if star else None
        if star and (name not in shown if shown is not None else name.startswith("_")):
            return []
        before = len(trail.perhaps)
        found = yield from self._defined(question, known, trail)
        if found:
            return found
        if not star or shown is not None or name in known.submodules:
            inner = self._roots.submodule(module, name)
            if inner is not None:
                return [inner]
        found = yield from self._bound(question, known.typed.get(name), known.typed_stars, trail)
        if found:
            return found
        if star or name in known.names or name in known.lazy or name in known.typed:
            return []
        perhaps = trail.perhaps[before:]
        del trail.perhaps[before:]
        return perhaps or [self._missing(module, known, name)]

    def _may_bring(self, path: str, name: str) -> bool:
        """Whether a star import of a module may bring a name: its text has it, or a star import of its own.

        A package may import hundreds of modules so, and to parse them takes a hundred times as long as to search them.
        """
        if path in self._exports:
            return True
        text = self.text(path)
        return isinstance(text, Unknown) or name in text or _STAR.search(text) is not None

    def _defined(self, question: _Question, known: Exports, trail: _Trail) -> _Steps:
        """What a module defines a name as when it runs: by a binding, or by a table of lazy imports."""
        name = question[1]
        found = yield from self._bound(question, known.names.get(name), known.stars, trail)
        if not found and name in known.lazy:
            found = yield from self._imported(question, known.lazy[name])
        return found

    def _bound(self, question: _Question, entry: Entry | None, stars: Sequence[Star], trail: _Trail) -> _Steps:
        """What the last binding of a name comes to, and earlier ones for as long as the later may not happen."""
        own: list[Result] = []
        others: list[Result] = []
        binders: list[Entry | Star] = [*stars] if entry is None else [*stars, entry]
        for binder in sorted(binders, key=lambda each: each.order, reverse=True):
            got: list[Result] = []
            if isinstance(binder, Star):
                got = yield from self._from_star(question, binder, trail)
                others += got
            else:
                for each in binder.bound:
                    got += [each] if isinstance(each, Definition) else (yield from self._imported(question, each))
                own += got
            if got and binder.sure:
                break
        return own + others

    def _imported(self, question: _Question, target: Import) -> _Steps:
        module, name, _ = question
        assert module.path is not None
        found = self.resolve(target.module, module.path)
        if target.name is None or isinstance(found, Unknown):
            return [found]
        if isinstance(found, External):
            return [External(f"{found.name}.{target.name}")]
        if found == module and target.name == name:  # `from . import name` in a package means its submodule
            inner = self._roots.submodule(found, name)
            return [inner if inner is not None else self._roots.missing(found, name)]
        return (yield found, target.name, False)

    def _from_star(self, question: _Question, star: Star, trail: _Trail) -> _Steps:
        module, name, _ = question
        assert module.path is not None
        found = self.resolve(star.module, module.path)
        if isinstance(found, Module):
            return (yield found, name, True)
        if not name.startswith("_"):
            trail.perhaps.append(External(f"{found.name}.{name}") if isinstance(found, External) else found)
        return []

    def _missing(self, module: Module, known: Exports, name: str) -> Result:
        """Say why a module does not have a name."""
        if known.dynamic:
            return Unknown(Reason.DYNAMIC, f"{module.name}.{name}")
        return self._roots.missing(module, name)

    def _all_of(self, path: str) -> frozenset[str] | None:
        """The value of ``__all__``, with what is added from other modules; None if the text does not tell it."""
        if path not in self._shown:
            names: set[str] = set()
            exact = True
            pending, seen = [path], set()
            while pending and exact:
                current = pending.pop()
                known = self.exports(current)
                if current in seen or isinstance(known, Unknown):
                    exact &= current in seen
                    continue
                seen.add(current)
                if known.shown is None:
                    exact = False
                    continue
                names |= known.shown.names
                others = [self._list_of(current, known, ref) for ref in known.shown.refs]
                exact = known.shown.exact and None not in others
                pending += [each for each in others if each is not None]
            self._shown[path] = frozenset(names) if exact else None
        return self._shown[path]

    def _list_of(self, path: str, known: Exports, ref: str) -> str | None:
        """The file whose ``__all__`` is meant by `a.__all__`, or by a name that is imported from there."""
        first, *rest = ref.split(".")
        entry = known.names.get(first)
        target = entry.bound[0] if entry is not None else None
        module: Result | None = None
        if isinstance(target, Import):
            module = self.resolve(target.module, path)
            if isinstance(module, Module) and target.name not in (None, "__all__"):
                module = self._roots.submodule(module, str(target.name))
        elif target is None and os.path.basename(path) == "__init__.py":
            module = self._roots.submodule(self._roots.module_at(path), first)
        for part in rest[:-1]:
            module = self._roots.submodule(module, part) if isinstance(module, Module) else None
        return module.path if isinstance(module, Module) else None


def _unique(results: Iterable[Result]) -> tuple[Result, ...]:
    return tuple(dict.fromkeys(results))


def is_of_library(known: Exports | Unknown, name: str) -> bool:
    """Whether all that a module binds a name to comes from a library: ``from typing import TYPE_CHECKING``."""
    entry = known.names.get(name) if isinstance(known, Exports) else None
    return entry is not None and all(isinstance(each, Import) and is_library(each.module) for each in entry.bound)
