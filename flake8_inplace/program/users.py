"""Who imports a file of a project, and who registers something by one of its names."""

from __future__ import annotations

from .importers import Index, read_index
from .imports import Definition, Project
from .pieces import callers, registered
from .sights import IMPORTS

MAX_IMPORTERS = 150_000
"""Characters of the files that import a file, at some distance, that are read for what they show of it."""
MAX_REGISTERED = 32
"""Files that register something by one name, beyond which none of them is read."""


class Users:
    """The files of a project by what they import. ``frameworks`` are the packages that bring tensors."""

    def __init__(self, project: Project, frameworks: frozenset[str]) -> None:
        self.project = project
        self._frameworks = frameworks
        self._indices: dict[str, Index] = {}
        self._packages: dict[str, frozenset[str]] = {}  # the topmost packages and modules of a project
        self._uses: dict[str, set[str]] = {}  # the files that a file imports from
        self._users: dict[tuple[str, str], tuple[str, ...]] = {}  # the files below a folder that import from a file
        self._registrants: dict[tuple[str, str], list[str]] = {}  # the files that register by a name of a module
        self._importing: dict[str, frozenset[str]] = {}  # the files of a project that import a framework

    def forget(self) -> None:
        """Forget everything: the disk has changed."""
        for known in (self._indices, self._packages, self._uses, self._users, self._registrants, self._importing):
            known.clear()

    def import_tensors(self, path: str) -> bool:
        """Return whether a file, or one that it can come to import, imports a package that handles tensors."""
        seen, todo = {path}, [path]
        while todo:
            each = todo.pop()
            index = self.index(each)
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
        if not self.have_tensors(path):
            return []
        index, found, size, level = self.index(path), dict[str, None](), 0, [path]
        top = self.project.top(path)
        while level:
            nearer = {importer for each in level for importer in self._direct(top, index, each)}
            level = sorted(nearer - found.keys() - {path})
            for importer in level:
                size += index.sizes[importer]
                if size > MAX_IMPORTERS:
                    self.project.text(importer)  # the answer hangs on it: a cache has to know
                    return list(found)
                found[importer] = None
        return list(found)

    def _direct(self, top: str, index: Index, path: str) -> tuple[str, ...]:
        """The files below a folder that import from a file. A project may have another one in it, with a setup.py."""
        if (top, path) not in self._users:
            word = self.project.module_of(path).rpartition(".")[2]
            found = (importer for importer in index.with_word(word) if path in self._used_by(index, importer))
            self._users[top, path] = tuple(found)
        return self._users[top, path]

    def _used_by(self, index: Index, importer: str) -> set[str]:
        """The files that a file imports from."""
        if importer not in self._uses:
            self._uses[importer] = {
                file.path
                for module, names in index.modules(importer).items()
                for file in self.project.brought(module, names, importer)
                if file.path
            }
        return self._uses[importer]

    def registering(self, path: str, name: str) -> list[str]:
        """Return the files that register something by a name of a module: ``@LAYERS.register("act")``.

        Nobody asks whether such a file is imported: if it weren't, the program would miss what it looks up.
        """
        found = self._registering(path, name)
        return found if len(found) <= MAX_REGISTERED else []

    def are_too_many(self, path: str, name: str) -> bool:
        """Return whether more files register by a name of a module than are read."""
        return len(self._registering(path, name)) > MAX_REGISTERED

    def _registering(self, path: str, name: str) -> list[str]:
        index = self.index(path)
        users = index.registering.get(name)
        if not users or self.project.is_installed(path):
            return []
        if (path, name) not in self._registrants:
            word = registered(name)
            if name == callers(word):
                word = ""  # an ``__init__`` hands such a decorator to half of a package, and all of that would be read
            named = frozenset(index.with_word(word))
            self._registrants[path, name] = [
                file
                for file in users
                if file != path
                and (path in self._used_by(index, file) or (file in named and self._brings(index, file, path, word)))
            ]
        return self._registrants[path, name]

    def _brings(self, index: Index, importer: str, path: str, name: str) -> bool:
        """Whether a file imports this name of a module, by way of another one."""
        found = (self.project.follow(each, importer) for each in index.imports(importer, name))
        return any(isinstance(result, Definition) and result.path == path for each in found for result in each)

    def index(self, path: str) -> Index:
        """Return the files of a file's project, by the words of their import statements."""
        top = self.project.top(path)
        if top not in self._indices:
            found = self._indices[top] = read_index(top, self.project.sights is not None)
            if self.project.sights is not None:
                self.project.sights.note(IMPORTS, top, found.sight)
        return self._indices[top]

    def have_tensors(self, path: str) -> bool:
        """Return whether any file of a project imports a package that handles tensors: the cheapest question."""
        return bool(self._tensor_files(path, self.index(path)))

    def packages(self, path: str) -> frozenset[str]:
        """Return the first parts of the full names of the modules of a file's project."""
        top = self.project.top(path)
        if top not in self._packages:
            self._packages[top] = frozenset(
                self.project.module_of(file).partition(".")[0] for file in self.index(path).sizes
            )
        return self._packages[top]
