"""The other files of a project: which of their names may overwrite something, and their pieces.

One object serves all files of a process. A summary is kept of each module, made from its ``ast`` once; of the trees,
few are kept. What a module's names lead to is the least solution over all modules that it can come to import, so the
order in which files are asked for does not matter.
"""

from __future__ import annotations

import ast
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from .imports import Definition, Import, Module, Project, Unknown, imported
from .pieces import Scan
from .reach import NOWAY, Reach, Ways
from .roots import RESERVED
from .scan import Outline, pieces
from .summary import Triggers

MAX_KEPT = 300_000
"""Characters of modules whose pieces are kept."""


@dataclass(slots=True, eq=False)
class _Summary:
    """What is kept of a module. ``targets`` are its imports: the variable, the file, the name in it.

    No name: the variable is the module. ``*`` for a variable: the names of the module are variables of this one.
    """

    reach: Reach
    targets: list[tuple[str, str, str | None]]
    ways: Ways = NOWAY
    settled: bool = False
    users: set[str] = field(default_factory=set)


class Modules:
    """The modules of a project."""

    def __init__(self, project: Project, triggers: Triggers) -> None:
        self.project = project
        self._triggers = triggers
        self._summaries: dict[str, _Summary | None] = {}
        self._scans: OrderedDict[str, tuple[int, Scan]] = OrderedDict()

    def name_of(self, path: str) -> str:
        """Return what to call a file: its path from the folder that its topmost package is in."""
        name = self.project.module_of(path).replace(".", "/")
        return f"{name}/__init__.py" if path.endswith("__init__.py") else f"{name}.py"

    def outside(self, tree: ast.Module, path: str) -> Ways:
        """Return the names that a file imports from other files and that may come to overwrite something."""
        targets = list(self._targets(tree, path))
        self._settle({target for _, target, _ in targets})
        return self._of(targets)

    def scan(self, path: str) -> Scan | None:
        """Return the pieces of a module; None if it cannot be read."""
        found = self._scans.pop(path, None)
        if found is None:
            source = self.project.source(path)
            if isinstance(source, Unknown):
                return None
            try:
                outline = Outline(source.tree, self._triggers)
                found = len(source.text), pieces(source.text, source.tree, outline, path)
            except RecursionError:
                return None
        self._scans[path] = found
        kept = sum(size for size, _ in self._scans.values())
        while kept > MAX_KEPT and len(self._scans) > 1:
            kept -= self._scans.popitem(last=False)[1][0]
        return found[1]

    def _summary(self, path: str) -> _Summary | None:
        if path not in self._summaries:
            source = self.project.source(path)
            try:
                self._summaries[path] = (
                    None
                    if isinstance(source, Unknown)
                    else _Summary(Outline(source.tree, self._triggers).reach, list(self._targets(source.tree, path)))
                )
            except RecursionError:
                self._summaries[path] = None
        return self._summaries[path]

    def _targets(self, tree: ast.Module, path: str) -> Iterator[tuple[str, str, str | None]]:
        for statement in _imports(tree):
            for variable, target in [*imported(statement), *_whole(statement)]:
                if target.module.partition(".")[0] in RESERVED:
                    continue
                for result in self.project.follow(target, path):
                    if isinstance(result, Definition):
                        yield variable, result.path, result.name
                    elif isinstance(result, Module) and result.path is not None:
                        yield variable, result.path, None

    def _of(self, targets: list[tuple[str, str, str | None]]) -> Ways:
        """What these imports bring, once the modules are settled."""
        runs: set[str] = set()
        makes: set[str] = set()
        for variable, path, name in targets:
            summary = self._summaries.get(path)
            if summary is None:
                continue
            if name is None:  # what is looked up in a module goes by its own name
                runs |= summary.ways.runs
                makes |= summary.ways.makes
            else:
                runs |= {variable} if name in summary.ways.runs else set()
                makes |= {variable} if name in summary.ways.makes else set()
        return Ways(frozenset(runs), frozenset(makes))

    def _settle(self, paths: set[str]) -> None:
        """Find out what the names of these modules, and of all that they import, lead to."""
        todo, fresh = list(paths), dict[str, _Summary]()
        while todo:
            path = todo.pop()
            summary = self._summary(path)
            if summary is None or summary.settled or path in fresh:
                continue
            fresh[path] = summary
            todo += {target for _, target, _ in summary.targets}
        for path, summary in fresh.items():
            for _, target, _ in summary.targets:
                if target in fresh:
                    fresh[target].users.add(path)
        changed = dict.fromkeys(fresh)
        while changed:
            path, _ = changed.popitem()
            summary = fresh[path]
            ways = summary.reach.spread(self._of(summary.targets))[1]
            if ways != summary.ways:
                summary.ways = ways
                changed |= dict.fromkeys(summary.users)
        for summary in fresh.values():
            summary.settled = True
            summary.users.clear()


def _imports(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node


def _whole(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Import]]:
    """``import a.b`` binds ``a``, and runs ``a.b``."""
    for alias in statement.names if isinstance(statement, ast.Import) else ():
        if "." in alias.name and not alias.asname:
            yield alias.name, Import(alias.name)
