"""The other files of a project: which of their names may overwrite something, and their pieces.

One object serves all files of a process. A summary is kept of each module, made from its ``ast`` once; of the trees,
few are kept. What a name leads to is the least solution over all names that it can come to, so the order in which files
are asked for does not matter. A module that none of them stands in is never read.
"""

from __future__ import annotations

import ast
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from . import lookups
from .imports import Definition, Exports, Import, Module, Project, Result, Unknown, is_of_library
from .pieces import IMPORTER, SUBCLASSES, Piece, Row, Scan, heirs
from .reach import NOWAY, Flow, Ways
from .roots import is_library
from .scan import Outline, Outside, borrowed
from .units import Triggers
from .users import Users

TEXTS = 500_000
"""Characters of modules whose text is kept, cut into pieces; more if one file has needed more."""
TREES = 100_000
"""Characters of pieces whose trees are kept; more if one file has needed more."""
MAX_STARRED = 200
"""Modules whose names are asked for, where star imports of one bring them."""
_Target = tuple[str, str, str | None]
"""An import: the variable, the file, the name in it. No name: the variable is the module."""
_ANY = "*"
"""In the place of the name: any name may be looked up in the module, by ``getattr(models, name)``."""
_Imports = dict[str, list[Import]]
"""What variables are imported as, on one path or another."""


@dataclass(slots=True, eq=False)
class _Summary:
    """What is kept of a module. ``targets`` are its imports. ``ways`` holds for the names that were ``asked`` for.

    ``later`` are the imports that it only has for others: they are followed when somebody asks for them.
    """

    flow: Flow
    targets: list[_Target]
    later: _Imports
    ways: Ways = NOWAY
    asked: set[str] = field(default_factory=set)


_WORD = re.compile(r"[^\W\d]\w*")
"""A name, or any other word: far cheaper than the names of the tree, which are among them."""


class Modules:
    """The modules of a project. ``frameworks`` are the packages that bring tensors."""

    def __init__(self, project: Project, triggers: Triggers, frameworks: frozenset[str]) -> None:
        self.project = project
        self.users = Users(project, frameworks)
        self._triggers = triggers
        self._summaries: dict[str, _Summary | None] = {}
        self._rows: dict[str, tuple[Row, ...] | None] = {}
        self._scans: OrderedDict[str, tuple[int, Scan]] = OrderedDict()
        self._kept = 0  # characters of these
        self._lent: dict[str, int] = {}  # those that the present file has asked for, and their characters
        self._trees: OrderedDict[Piece, int] = OrderedDict()  # pieces that were read, and their sizes
        self._texts_kept, self._trees_kept = TEXTS, TREES

    def forget(self, path: str) -> None:
        """Forget what follows from the disk, and from the text of a file, which have changed."""
        self._forget_text(path)
        self.users.forget()

    def replace(self, path: str, text: str | None) -> None:
        """Let a text stand for a file. Only what follows from the text is forgotten: also for files that import it."""
        self.project.replace(path, text)
        self._forget_text(path)

    def _forget_text(self, path: str) -> None:
        for summary in self._summaries.values():
            if summary is not None:
                summary.ways = NOWAY
                summary.asked.clear()
        self._summaries.pop(path, None)
        self._rows.pop(path, None)
        self._kept -= self._scans.pop(path, (0, None))[0]

    def name_of(self, path: str) -> str:
        """Return what to call a file: its path from the folder that its topmost package is in."""
        name = self.project.module_of(path).replace(".", "/")
        return f"{name}/__init__.py".lstrip("/") if path.endswith("__init__.py") else f"{name}.py"

    def outside(self, source: str, tree: ast.Module, path: str) -> Outside:
        """Return what a file with this text imports from other files."""
        if not self.users.have_tensors(path):
            return Outside()
        targets, later = self._targets(tree, path)
        variables = frozenset(variable for variable, _, _ in targets)
        outline = Outline(tree, self._triggers, variables)
        if path not in self._summaries:
            self._summaries[path] = self._summarized(outline, tree, path, targets, later)
        unused = frozenset(variable for variable, _ in lookups.variables(tree)) - outline.reach.mentions()
        self._settle(self._asked(targets, variables.union(_WORD.findall(source)) - unused))
        return Outside(self._of(targets), variables, frozenset() if lookups.any_name(source, tree) else unused, outline)

    def registers(self, path: str, name: str) -> bool:
        """Return whether a statement of a file registers something by a name, without reading its text again."""
        return any(name in row.registers for row in self._rows_of(path) or ())

    def scan(self, path: str) -> Scan | None:
        """Return the pieces of a module; None if it cannot be read."""
        found = self._scans.pop(path, None)
        if found is None:
            rows, text = self._rows_of(path), self.project.text(path)
            if rows is None or isinstance(text, Unknown):
                return None
            found = len(text), borrowed(text.replace("\r\n", "\n").replace("\r", "\n"), rows, path)
            self._kept += found[0]
        self._scans[path] = found
        self._lent[path] = found[0]
        while self._kept > self._texts_kept and len(self._scans) > 1:
            size, scan = self._scans.popitem(last=False)[1]
            self._kept -= size
            for piece in scan.pieces:
                self._trees.pop(piece, None)
        return found[1]

    def keep(self, pieces: Iterable[Piece]) -> None:
        """Keep the trees of pieces that a file used: the next may import the same. Forget those used long ago.

        There is room for all that one file has needed. With less, each file of a package would read all of it anew.
        """
        used = {piece: piece.size for piece in pieces}
        self._texts_kept = max(self._texts_kept, sum(self._lent.values()))
        self._trees_kept = max(self._trees_kept, sum(used.values()))
        self._lent.clear()
        for piece, size in used.items():
            self._trees[piece] = size
            self._trees.move_to_end(piece)
        kept = sum(self._trees.values())
        while kept > self._trees_kept:
            piece, size = self._trees.popitem(last=False)
            piece.forget()
            kept -= size

    def _rows_of(self, path: str) -> tuple[Row, ...] | None:
        if path not in self._rows:
            source = self.project.source(path)
            try:
                known = None if isinstance(source, Unknown) else self._outline(source.tree, path).rows(source.tree)
            except RecursionError:
                known = None
            self._rows[path] = known
        return self._rows[path]

    def _outline(self, tree: ast.Module, path: str) -> Outline:
        targets, _ = self._targets(tree, path)
        return Outline(tree, self._triggers, frozenset(variable for variable, _, _ in targets))

    def _summary(self, path: str) -> _Summary | None:
        if path not in self._summaries:
            source = self.project.source(path)
            try:
                self._summaries[path] = None if isinstance(source, Unknown) else self._summarize(source.tree, path)
            except RecursionError:
                self._summaries[path] = None
        return self._summaries[path]

    def _summarize(self, tree: ast.Module, path: str) -> _Summary:
        targets, later = self._targets(tree, path)
        followed = frozenset(variable for variable, _, _ in targets)
        return self._summarized(Outline(tree, self._triggers, followed), tree, path, targets, later)

    def _summarized(
        self, outline: Outline, tree: ast.Module, path: str, targets: list[_Target], later: _Imports
    ) -> _Summary:
        self._rows[path] = outline.rows(tree)
        others = self._from_others(outline.reach.mentions(), targets)
        return _Summary(outline.reach.flow(others.union(later)), targets, later)

    def _from_others(self, mentions: frozenset[str], targets: list[_Target]) -> set[str]:
        """The names of a file that may mean something in another one. What a module defines goes by its own name."""
        found = {variable for variable, _, _ in targets}
        for _, path, name in targets:
            if name is None:
                found |= mentions.intersection(_names_of(self.project.exports(path)))
        return found

    def _targets(self, tree: ast.Module, path: str) -> tuple[list[_Target], _Imports]:
        """The variables that a file imports, with their files and names there; by star imports, those that it reads.

        So are names that other files give a meaning in this one: by registering something, or by inheriting. The
        imports of variables that the file never mentions are not followed, and returned apart: an ``__init__`` has
        hundreds of them.
        """
        text, index = self.project.text(path), self.users.index(path)
        text = text if isinstance(text, str) else ""
        any_name = lookups.any_name(text, tree)
        imports = [each for each in lookups.variables(tree) if not is_library(each[1].module)]
        later = {} if any_name else lookups.unmentioned(imports, tree)
        found = list(self._imported([each for each in imports if each[0] not in later], tree, path, bool(any_name)))
        for name in any_name:
            found += [(name, file, inner) for _, file, inner in found if inner is not None]
        followed = frozenset(variable for variable, _, _ in found)
        asking = index.registering.get(SUBCLASSES, ())
        asks = bool(asking) and (path in asking or any(file in asking for _, file, _ in found))
        if asks:
            heard = [(name, file, heirs(inner)) for name, file, inner in found if inner not in (None, _ANY)]
            found += [(name, each, key) for name, file, key in heard for each in self.users.registering(file, key)]
        for name, key in lookups.tables(tree):
            found += [(name, file, key) for file in self.users.registering(path, key)]
        found += self._filled(tree, path, followed, asks)
        for name, target in lookups.strings(text) if index.registering.get(IMPORTER) else ():
            if target.module.partition(".")[0] in self.users.packages(path):
                found += _files(name, self.project.follow(target, path))
        return found, later

    def _imported(
        self, imports: Iterable[tuple[str, Import]], tree: ast.Module, path: str, any_name: bool
    ) -> Iterator[_Target]:
        stars, reads = list[Module](), None
        for variable, target in imports:
            results = self.project.follow(target, path)
            modules = [result for result in results if isinstance(result, Module)]
            if variable == "*":
                stars += modules
                continue
            if modules:
                reads = reads or lookups.reads(tree)
                yield from self._beneath(modules, reads.attributes)
            computed = variable == IMPORTER or (reads is not None and variable in reads.computed)
            yield from _files(variable, results, computed)
        known = self.project.exports(path) if stars else None
        if isinstance(known, Exports):
            asked = lookups.looked_up(tree).union(self._starred(stars) if any_name else ())
            for name in sorted(asked.difference(known.names)):
                yield from _files(name, self.project.find(name, path))

    def _starred(self, stars: list[Module]) -> Iterator[str]:
        """The names that star imports of modules may bring, of up to `MAX_STARRED` of them."""
        todo, seen = [*stars], set[Module]()
        while todo and len(seen) < MAX_STARRED:
            module = todo.pop()
            known = self.project.exports(module.path) if module not in seen and module.path is not None else None
            seen.add(module)
            if isinstance(known, Exports):
                yield from known.names
                inner = (self.project.resolve(star.module, known.path) for star in known.stars)
                todo += [each for each in inner if isinstance(each, Module)]

    def _filled(self, tree: ast.Module, path: str, followed: frozenset[str], asks: bool) -> Iterator[_Target]:
        variables = frozenset(name for name, key in lookups.tables(tree) if name == key)
        for filling in lookups.fillings(tree, followed, asks):
            files = self.users.registering(path, filling.key)
            names = filling.names(variables) if files else ()
            yield from ((name, file, filling.key) for name in names for file in files)

    def _beneath(self, modules: list[Module], attributes: frozenset[str]) -> Iterator[_Target]:
        """The attributes that a file reads, as far as modules import what they stand for: ``pkg.layers.act``.

        So are those that a module imports only when it is asked for them: `lazy`.
        """
        todo, seen = [*modules], {*modules}
        while todo:
            module = todo.pop()
            known = self.project.exports(module.path) if module.path is not None else None
            if not isinstance(known, Exports):
                continue
            brought = {name for name in known.names if _is_imported(known, name)}.union(
                known.lazy, known.typed, known.submodules
            )
            if known.stars:
                brought |= {*self._starred([module])}
            for name in sorted(brought & attributes):
                results = self.project.look_up(module, name)
                yield from _files(name, results)
                inner = [result for result in results if isinstance(result, Module) and result not in seen]
                seen.update(inner)
                todo += inner

    def _of(self, targets: list[_Target]) -> Ways:
        """What these imports bring, as far as the modules are settled."""
        runs: set[str] = set()
        makes: set[str] = set()
        for variable, path, name in targets:
            summary = self._summaries.get(path)
            if summary is None:
                continue
            if name is None:  # what is looked up in a module goes by its own name
                runs |= summary.ways.runs
                makes |= summary.ways.makes
            elif name == _ANY:
                makes |= {variable} if summary.ways else set()
            else:
                runs |= {variable} if name in summary.ways.runs else set()
                makes |= {variable} if name in summary.ways.makes else set()
        return Ways(frozenset(runs), frozenset(makes))

    def _asked(self, targets: list[_Target], names: frozenset[str]) -> Iterator[tuple[str, str]]:
        """What is to be known of other files, if these variables and attributes are: the file, and the name there."""
        for variable, path, name in targets:
            if name is None or name == _ANY:
                known = self.project.exports(path)
                asked = names.intersection(_names_of(known)) if name is None else _names_of(known)
                if name is None or variable in names:
                    yield from ((path, each) for each in sorted(asked) if not is_of_library(known, each))
            elif variable in names:
                yield path, name

    def _settle(self, asked: Iterable[tuple[str, str]]) -> None:
        """Find out what these names of modules lead to, and all names that they can come to."""
        todo, fresh = list(asked), dict[str, _Summary]()
        while todo:
            path, name = todo.pop()
            summary = self._summary(path)
            if summary is None or name in summary.asked:
                continue
            summary.asked.add(name)
            fresh[path] = summary
            needs = summary.flow.needs(name)
            for variable in needs.intersection(summary.later):
                for each in summary.later.pop(variable):
                    summary.targets += _files(variable, self.project.follow(each, path))
            todo += self._asked(summary.targets, needs)
        users: dict[str, set[str]] = {}
        for path, summary in fresh.items():
            for _, target, _ in summary.targets:
                users.setdefault(target, set()).add(path)
        changed = dict.fromkeys(fresh)
        while changed:
            path, _ = changed.popitem()
            summary = fresh[path]
            ways = summary.flow.ways(self._of(summary.targets))
            if ways != summary.ways:
                summary.ways = ways
                changed |= dict.fromkeys(users.get(path, ()))


def _is_imported(known: Exports, name: str) -> bool:
    """Whether a module imports a name from another file of a project, on one path at least."""
    return any(isinstance(each, Import) and not is_library(each.module) for each in known.names[name].bound)


def _names_of(known: Exports | Unknown) -> Iterable[str]:
    return known.names if isinstance(known, Exports) else ()


def _files(variable: str, results: Iterable[Result], computed: bool = False) -> Iterator[_Target]:
    """The files that what a variable is bound to comes from, with its name there.

    ``computed``: names that the text does not tell are looked up in it.
    """
    for result in results:
        if isinstance(result, Definition):
            yield variable, result.path, result.name
        elif isinstance(result, Module) and result.path is not None:
            yield variable, result.path, None
            if computed:
                yield variable, result.path, _ANY
