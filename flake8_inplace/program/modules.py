"""The other files of a project: which of their names may overwrite something, and their pieces.

One object serves all files of a process. A summary is kept of each module, made from its ``ast`` once; of the trees,
few are kept. What a name leads to is the least solution over all names that it can come to, so the order in which files
are asked for does not matter. A module that none of them stands in is never read.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from . import lazy
from .importers import Index, read_index
from .imports import Definition, Exports, Import, Module, Project, Result, Unknown, imported
from .pieces import INIT_SUBCLASS, Piece, Row, Scan, callers, heirs
from .reach import NOWAY, Flow, Ways
from .roots import RESERVED
from .scan import Outline, borrowed, imports
from .sights import IMPORTS
from .units import Triggers

MAX_KEPT = 500_000
"""Characters of modules whose text is kept, cut into pieces."""
MAX_TREES = 100_000
"""Characters of pieces whose trees are kept."""
MAX_IMPORTERS = 150_000
"""Characters of the files that import a file, at some distance, that are read for what they show of it."""


MAX_REGISTERED = 32
"""Files that register something by one name, beyond which none of them is read."""


@dataclass(frozen=True, slots=True)
class Outside:
    """What a file imports from others: which names may overwrite something, and all variables bound so."""

    ways: Ways = NOWAY
    variables: frozenset[str] = frozenset()


_Target = tuple[str, str, str | None]
"""An import: the variable, the file, the name in it. No name: the variable is the module."""
_ANY = "*"
"""In the place of the name: any name may be looked up in the module, by ``getattr(models, name)``."""


@dataclass(slots=True, eq=False)
class _Summary:
    """What is kept of a module. ``targets`` are its imports. ``ways`` holds for the names that were ``asked`` for."""

    flow: Flow
    targets: list[_Target]
    ways: Ways = NOWAY
    asked: set[str] = field(default_factory=set)


_WORD = re.compile(r"[^\W\d]\w*")
"""A name, or any other word: far cheaper than the names of the tree, which are among them."""


class Modules:
    """The modules of a project. ``frameworks`` are the packages that bring tensors."""

    def __init__(self, project: Project, triggers: Triggers, frameworks: frozenset[str]) -> None:
        self.project = project
        self._triggers = triggers
        self._frameworks = frameworks
        self._summaries: dict[str, _Summary | None] = {}
        self._rows: dict[str, tuple[Row, ...] | None] = {}
        self._scans: OrderedDict[str, tuple[int, Scan]] = OrderedDict()
        self._kept = 0  # characters of these
        self._trees: OrderedDict[Piece, int] = OrderedDict()  # pieces that were read, and their sizes
        self._indices: dict[str, Index] = {}
        self._uses: dict[str, set[str]] = {}  # the files that a file imports from
        self._users: dict[str, tuple[str, ...]] = {}  # the files that import from a file
        self._importing: dict[str, frozenset[str]] = {}  # the files of a project that import a framework

    def forget(self, path: str) -> None:
        """Forget what follows from the text of a file, which has changed: also for the files that import it."""
        for summary in self._summaries.values():
            if summary is not None:
                summary.ways = NOWAY
                summary.asked.clear()
        self._summaries.pop(path, None)
        self._rows.pop(path, None)
        self._kept -= self._scans.pop(path, (0, None))[0]
        self._uses.clear()
        self._users.clear()
        self._importing.clear()
        self._indices.clear()

    def name_of(self, path: str) -> str:
        """Return what to call a file: its path from the folder that its topmost package is in."""
        name = self.project.module_of(path).replace(".", "/")
        return f"{name}/__init__.py".lstrip("/") if path.endswith("__init__.py") else f"{name}.py"

    def outside(self, source: str, tree: ast.Module, path: str) -> Outside:
        """Return what a file with this text imports from other files."""
        if not self._has_tensors(path):
            return Outside()
        targets = list(self._targets(tree, path))
        variables = frozenset(variable for variable, _, _ in targets)
        self._settle(self._asked(targets, variables.union(_WORD.findall(source))))
        return Outside(self._of(targets), variables)

    def import_tensors(self, path: str) -> bool:
        """Return whether a file, or one that it can come to import, imports a package that handles tensors."""
        seen, todo = {path}, [path]
        while todo:
            each = todo.pop()
            index = self._index(each)
            if each in self._tensor_files(each, index):
                return True
            todo += sorted(self._used_by(index, each) - seen)
            seen.update(todo)
        return False

    def _tensor_files(self, path: str, index: Index) -> frozenset[str]:
        top = self.project.top(path)
        if top not in self._importing:
            self._importing[top] = frozenset(file for name in self._frameworks for file in index.with_word(name))
        return self._importing[top]

    def importers(self, path: str) -> list[str]:
        """Return the files that import a file, at some distance: nearest first, then in the order of their paths."""
        if not self._has_tensors(path):
            return []
        index, found, size, level = self._index(path), dict[str, None](), 0, [path]
        while level:
            nearer = {importer for each in level for importer in self._direct(index, each)}
            level = sorted(nearer - found.keys() - {path})
            for importer in level:
                size += index.sizes[importer]
                if size > MAX_IMPORTERS:
                    self.project.text(importer)  # the answer hangs on it: a cache has to know
                    return list(found)
                found[importer] = None
        return list(found)

    def _direct(self, index: Index, path: str) -> tuple[str, ...]:
        """The files that import from a file."""
        if path not in self._users:
            word = self.project.module_of(path).rpartition(".")[2]
            found = (importer for importer in index.with_word(word) if path in self._used_by(index, importer))
            self._users[path] = tuple(found)
        return self._users[path]

    def _used_by(self, index: Index, importer: str) -> set[str]:
        """The files that a file imports from."""
        if importer not in self._uses:
            found = (self.project.resolve(name, importer) for name in index.modules(importer))
            self._uses[importer] = {each.path for each in found if isinstance(each, Module) and each.path}
        return self._uses[importer]

    def registering(self, path: str, name: str) -> list[str]:
        """Return the files that register something by a name of a module: ``@LAYERS.register("act")``.

        Nobody asks whether such a file is imported: if it weren't, the program would miss what it looks up.
        """
        index = self._index(path)
        users = index.registering.get(name)
        if not users or self.project.is_installed(path):
            return []
        found = [file for file in users if file != path and path in self._used_by(index, file)]
        return found if len(found) <= MAX_REGISTERED else []

    def registers(self, path: str, name: str) -> bool:
        """Return whether a statement of a file registers something by a name, without reading its text again."""
        return any(name in row.registers for row in self._rows_of(path) or ())

    def _index(self, path: str) -> Index:
        top = self.project.top(path)
        if top not in self._indices:
            found = self._indices[top] = read_index(top)
            if self.project.sights is not None:
                self.project.sights.note(IMPORTS, top, found.sight)
        return self._indices[top]

    def _has_tensors(self, path: str) -> bool:
        """Whether any file of a project imports a package that handles tensors: the cheapest question."""
        return bool(self._tensor_files(path, self._index(path)))

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
        while self._kept > MAX_KEPT and len(self._scans) > 1:
            size, scan = self._scans.popitem(last=False)[1]
            self._kept -= size
            for piece in scan.pieces:
                self._trees.pop(piece, None)
        return found[1]

    def keep(self, pieces: Iterable[Piece]) -> None:
        """Keep the trees of pieces that a file used: the next may import the same. Forget those used long ago."""
        for piece in pieces:
            self._trees[piece] = piece.size
            self._trees.move_to_end(piece)
        kept = sum(self._trees.values())
        while kept > MAX_TREES:
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
        followed = frozenset(variable for variable, _, _ in self._targets(tree, path))
        return Outline(tree, self._triggers, followed)

    def _summary(self, path: str) -> _Summary | None:
        if path not in self._summaries:
            source = self.project.source(path)
            try:
                self._summaries[path] = None if isinstance(source, Unknown) else self._summarize(source.tree, path)
            except RecursionError:
                self._summaries[path] = None
        return self._summaries[path]

    def _summarize(self, tree: ast.Module, path: str) -> _Summary:
        targets = list(self._targets(tree, path))
        followed = frozenset(variable for variable, _, _ in targets)
        outline = Outline(tree, self._triggers, followed)
        self._rows[path] = outline.rows(tree)
        flow = outline.reach.flow(self._from_others(outline.reach.mentions(), targets))
        return _Summary(flow, targets)

    def _from_others(self, mentions: frozenset[str], targets: list[_Target]) -> set[str]:
        """The names of a file that may mean something in another one. What a module defines goes by its own name."""
        found = {variable for variable, _, _ in targets}
        for _, path, name in targets:
            if name is None:
                found |= mentions.intersection(_names_of(self.project.exports(path)))
        return found

    def _targets(self, tree: ast.Module, path: str) -> Iterator[_Target]:
        """The variables that a file imports, with their files and names there; by star imports, those that it reads."""
        stars, reads = False, None
        for variable, target in _imports(tree):
            if target.module.partition(".")[0] in RESERVED:
                continue
            results = self.project.follow(target, path)
            modules = [result for result in results if isinstance(result, Module)]
            if variable == "*":
                stars |= bool(modules)
            elif modules:
                reads = reads or _reads(tree)
                yield from self._lazily(modules, reads)
            computed = variable == _IMPORTER or (reads is not None and variable in reads.computed)
            yield from _files(variable, results, computed)
        known = self.project.exports(path) if stars else None
        if isinstance(known, Exports):
            for name in sorted(_looked_up(tree).difference(known.names)):
                yield from _files(name, self.project.find(name, path))
        for name, key in _tables(tree):
            yield from ((name, file, key) for file in self.registering(path, key))
        yield from self._filled(tree, path)

    def _filled(self, tree: ast.Module, path: str) -> Iterator[_Target]:
        """The variables of a file that other files may fill by calling functions of it, or by decorating with them."""
        variables = {name for name, key in _tables(tree) if name == key}
        for statement in tree.body:
            key = callers(statement.name) if isinstance(statement, ast.FunctionDef) else ""
            files = self.registering(path, key) if key else []
            names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)} if files else set()
            yield from ((name, file, key) for name in sorted(names & variables) for file in files)

    def _lazily(self, modules: Iterable[Module], reads: _Reads) -> Iterator[_Target]:
        """The attributes that a file reads, as far as these modules import them when they are asked: `lazy`."""
        for module in modules:
            known = self.project.exports(module.path) if module.path is not None else None
            for name in sorted(reads.attributes.intersection(known.lazy)) if isinstance(known, Exports) else ():
                yield from _files(name, self.project.look_up(module, name))

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
                known = frozenset(_names_of(self.project.exports(path)))
                asked = names & known if name is None else known if variable in names else ()
                yield from ((path, each) for each in sorted(asked))
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
            todo += self._asked(summary.targets, summary.flow.needs(name))
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


@dataclass(frozen=True, slots=True)
class _Reads:
    """The attributes that a file reads, and the variables in whose values it looks up a ``computed`` name."""

    attributes: frozenset[str]
    computed: frozenset[str]


def _reads(tree: ast.Module) -> _Reads:
    attributes, computed = set[str](), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            attributes.add(node.attr)
            if node.attr == "__dict__" and isinstance(node.value, ast.Name):
                computed.add(node.value.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "vars"):
            module, name = (*node.args, None, None)[:2]
            if isinstance(module, ast.Name) and not isinstance(name, ast.Constant):
                computed.add(module.id)
    return _Reads(frozenset(attributes), frozenset(computed))


_OF_MODULES = frozenset({*dir(builtins), "__file__", "__path__", "__all__"})
"""Names that a module has without an import."""


def _looked_up(tree: ast.Module) -> set[str]:
    """The variables that a file reads, and that a star import may bring."""
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {node.id for node in names if isinstance(node.ctx, ast.Load)} - _OF_MODULES


def _tables(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What definitions of other files may be registered in, each with the name that they do it by.

    These are the variables of a module, its classes and its decorated functions.
    """
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            yield from ((target.id, target.id) for target in statement.targets if isinstance(target, ast.Name))
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, statement.target.id
        elif isinstance(statement, ast.FunctionDef) and statement.decorator_list:
            yield statement.name, statement.name
        elif isinstance(statement, ast.ClassDef):
            yield statement.name, statement.name
            if any(isinstance(part, ast.FunctionDef) and part.name == INIT_SUBCLASS for part in statement.body):
                yield statement.name, heirs(statement.name)


_IMPORTER = "import_module"
"""Stands for a module that a function imports by a call: its caller may have it, and look up any name in it."""


def _imports(tree: ast.Module) -> Iterator[tuple[str, Import]]:
    """The variables that a file binds to what it imports, ``x = importlib.import_module("a.b")`` included."""
    called = False
    for statement in imports(tree):
        called = called or any(alias.name in ("importlib", _IMPORTER) for alias in statement.names)
        yield from imported(statement)
        yield from _whole(statement)
    for module in lazy.modules(tree) if called else ():
        yield _IMPORTER, Import(module)
    for each in tree.body:
        found = lazy.import_module(each.value) if isinstance(each, ast.Assign) else None
        if found is not None and isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
            yield each.targets[0].id, Import(*found)


def _whole(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Import]]:
    """``import a.b`` binds ``a``, and runs ``a.b``."""
    for alias in statement.names if isinstance(statement, ast.Import) else ():
        if "." in alias.name and not alias.asname:
            yield alias.name, Import(alias.name)
