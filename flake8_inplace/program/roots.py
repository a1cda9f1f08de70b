"""From a file to the folders that its imports are looked for in, and from an import to a file.

Folders alone decide; nothing is imported. The answer depends on the importing file, the options and the folder that
flake8 runs in, and not on the other files that are linted.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from .disk import Disk, Reason, Unknown

RESERVED = (sys.stdlib_module_names | {"torch", "numpy"}) - {"test"}
"""Names that mean the library in an absolute import, even where the project has a folder or file so named.

The facts about torch and numpy hold for those libraries alone, and a file that shadows the standard library is mostly
an accident: see `is_library`. `test` is left out: nobody imports Python's own tests. A relative import never means the
library.
"""
_LIBRARY = os.path.dirname(os.__file__)
MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg", "tox.ini", ".flake8")
"""Files and folders that stand at the top of a project."""
_INSTALLED = ("site-packages", "dist-packages")
_MAX_PARTS = 100


@dataclass(frozen=True, slots=True)
class Root:
    """A folder that absolute imports are looked for in; of a folder of installed packages, ``only`` some of them."""

    folder: str
    only: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the project: a file, a package (its ``__init__.py``), or a namespace package, which has no file.

    ``folders`` hold the submodules. ``name`` is the one that it was asked for by, and no part of its identity.
    """

    path: str | None
    folders: tuple[str, ...] = ()
    name: str = field(default="", compare=False)

    def said(self, name_of: Callable[[str], str]) -> str:
        """In words, where files are called by ``name_of`` their paths."""
        return f"module {name_of(self.path)}" if self.path is not None else f"folder {self.folders[0]}"


@dataclass(frozen=True, slots=True)
class External:
    """A module or name outside of the project that is not followed, such as `torch.nn.functional.relu`."""

    name: str

    def said(self, name_of: Callable[[str], str]) -> str:
        """In words."""
        return f"{self.name}, outside of the project"


def is_library(dotted: str) -> bool:
    """Return whether the name of a module certainly means torch, numpy or the standard library.

    `code.models` doesn't: no such module comes with Python, so only a package of the project can make that import work.
    """
    first, _, rest = dotted.partition(".")
    return first in RESERVED and (not rest or _is_in_library(first, rest.partition(".")[0]))


@lru_cache(maxsize=1024)
def _is_in_library(first: str, second: str) -> bool:
    inner = os.path.join(_LIBRARY, first, second)
    return first in ("os", "torch", "numpy") or os.path.isdir(inner) or os.path.isfile(f"{inner}.py")


class Roots:
    """Resolves imports. ``folder`` is the one that flake8 runs in, ``extra`` the option `inplace-path`.

    ``follow`` names installed packages to read as well. They are looked for in ``path``, by default `sys.path`.
    """

    def __init__(
        self,
        disk: Disk,
        folder: str,
        extra: Sequence[str] = (),
        follow: Iterable[str] = (),
        path: Sequence[str] | None = None,
    ) -> None:
        self._disk = disk
        self._folder = os.path.abspath(folder)
        self._extra = [self.absolute(each) for each in extra]
        self._follow = sorted(name for name in set(follow) if name.isidentifier())
        self._path = [self.absolute(each) for each in (sys.path if path is None else path)]
        self._named: list[Root] | None = None
        self._roots: dict[tuple[str, str], tuple[Root, ...]] = {}
        self._resolved: dict[tuple[str, str], Module | External | Unknown] = {}
        self._found: dict[Sequence[object], Module | None] = {}
        self._scripts: dict[str, bool] = {}
        self._tops: dict[str, str] = {}

    def refresh(self) -> None:
        """Forget all answers: files came or went."""
        self._named = None
        self._roots.clear()
        self._resolved.clear()
        self._found.clear()
        self._scripts.clear()
        self._tops.clear()

    def absolute(self, file: str) -> str:
        """The absolute path of a file, which need not exist. Symlinks stay as they are."""
        return os.path.normpath(os.path.join(self._folder, file))

    def roots(self, file: str) -> tuple[Root, ...]:
        """Return the folders that the absolute imports of a file are looked for in, the first ones first.

        1. The folder above the topmost package that the file is in; for a script outside of packages, its own folder.
        2. `inplace-path`.
        3. The folders from there up to the one with a `pyproject.toml`, `.git` or the like, and `src` in each.
        4. The folder that flake8 runs in, and `src` in it.
        5. Folders of installed packages, for those named by `inplace-follow` alone.

        A file in `site-packages` sees its own package, `inplace-path` and the named packages.
        """
        file = self.absolute(file)
        folder = os.path.dirname(file)
        site, package = _installed(file)
        key = (folder, package)
        if key not in self._roots:
            found = list(self._own(folder, site, package))
            found += self._packages()
            kept = [root for root in dict.fromkeys(found) if self._disk.is_folder(root.folder)]
            self._roots[key] = tuple(kept)
        return self._roots[key]

    def top(self, file: str) -> str:
        """Return the folder that holds all of a file's project.

        It is the marked one, or the one that flake8 runs in, or that above the topmost package; of an installed
        package, its own.
        """
        if file not in self._tops:
            self._tops[file] = self._find_top(self.absolute(file))
        return self._tops[file]

    def _find_top(self, file: str) -> str:
        site, package = _installed(file)
        if site:
            return os.path.join(site, package)
        folder = os.path.dirname(file)
        above = self._project(folder)
        if above:
            return above[-1]
        below = _is_below(folder, self._folder) and os.path.dirname(self._folder) != self._folder
        return self._folder if below else self._top(folder)

    def is_installed(self, file: str) -> bool:
        """Whether a file belongs to an installed package."""
        return bool(_installed(file)[0]) or any(_is_below(file, root.folder) for root in self._packages())

    def module_of(self, file: str) -> str:
        """Return the dotted name of a file, counted from the topmost package that it is in."""
        file = self.absolute(file)
        folder, base = os.path.split(file)
        parts = [] if base == "__init__.py" else [base.removesuffix(".py")]
        top = self._top(folder)
        while folder != top:
            folder, base = os.path.split(folder)
            parts.append(base)
        return ".".join(reversed(parts))

    def module_at(self, file: str) -> Module:
        """Return the module that a file is."""
        file = self.absolute(file)
        folders = (os.path.dirname(file),) if os.path.basename(file) == "__init__.py" else ()
        return Module(file, folders, self.module_of(file))

    def resolve(self, dotted: str, from_file: str) -> Module | External | Unknown:
        """Return what `import dotted` means in a file; leading dots make it relative, as in `from ..a import b`."""
        key = (dotted, from_file)
        if key not in self._resolved:
            self._resolved[key] = self._resolve(dotted, self.absolute(from_file))
        return self._resolved[key]

    def submodule(self, module: Module, name: str) -> Module | None:
        """Return the submodule of a package, whether the package imports it or not."""
        if not name.isidentifier():
            return None
        found = self._inside(module.folders, [name])
        return None if found is None else Module(found.path, found.folders, f"{module.name}.{name}".lstrip("."))

    def missing(self, module: Module, name: str) -> External | Unknown:
        """Say what a name is that a module lacks. A folder without `__init__.py` yields to an installed package."""
        full = f"{module.name}.{name}"
        if module.path is None and module.name and not module.name.startswith("."):
            return External(full)
        compiled = any(self._disk.has_compiled(folder, name) for folder in module.folders)
        return Unknown(Reason.COMPILED if compiled else Reason.NOT_DEFINED, full)

    def _resolve(self, dotted: str, from_file: str) -> Module | External | Unknown:
        name = dotted.lstrip(".")
        level = len(dotted) - len(name)
        parts = name.split(".") if name else []
        if not dotted or len(parts) > _MAX_PARTS or not all(part.isidentifier() for part in parts):
            return Unknown(Reason.NOT_FOUND, dotted)
        if level:
            return self._relative(dotted, level, parts, from_file)
        if is_library(dotted):
            return External(dotted)
        folders = [r.folder for r in self.roots(from_file) if r.only is None or parts[0] in r.only]
        found = self._below(tuple(folders), parts, from_file)
        if found is None and parts[0] in RESERVED:
            return External(dotted)
        if found is None and any(self._regular(folder, parts[0], from_file) for folder in folders):
            return self._lost(dotted, self._search(folders, parts[:-1], from_file), parts)
        if found is None and self._is_script(from_file):
            found = self._search([os.path.dirname(from_file)], parts, from_file)
        return External(dotted) if found is None else Module(found.path, found.folders, dotted)

    def _below(self, folders: tuple[str, ...], parts: list[str], from_file: str) -> Module | None:
        """As `_search`, asked once for all files with the same roots; files with the name of the module ask anew."""
        if os.path.basename(from_file) == f"{parts[0]}.py":
            return self._search(folders, parts, from_file)
        return self._inside(folders, parts)

    def _inside(self, folders: tuple[str, ...], parts: list[str]) -> Module | None:
        """As `_search`, asked once."""
        key = (folders, *parts)
        if key not in self._found:
            self._found[key] = self._search(folders, parts)
        return self._found[key]

    def _relative(self, dotted: str, level: int, parts: list[str], from_file: str) -> Module | Unknown:
        base = os.path.dirname(from_file)
        for _ in range(level - 1):
            base = os.path.dirname(base)
            if not any(_is_below(base, root.folder) for root in self.roots(from_file)):
                return Unknown(Reason.OUTSIDE, dotted)
        start = os.path.join(base, "__init__.py")
        package = Module(start if self._disk.is_file(start) else None, (base,))
        found = self._inside((base,), parts) if parts else package
        if found is None:
            known = self._inside((base,), parts[:-1]) if parts[1:] else package
            return self._lost(dotted, known, parts)
        return Module(found.path, found.folders, self.module_of(found.path) if found.path else dotted)

    def _lost(self, dotted: str, package: Module | None, parts: list[str]) -> Unknown:
        """Say why a submodule is not there; ``package`` is the one that should have it."""
        compiled = package is not None and any(self._disk.has_compiled(f, parts[-1]) for f in package.folders)
        return Unknown(Reason.COMPILED if compiled else Reason.NOT_FOUND, dotted)

    def _search(self, folders: Sequence[str], parts: list[str], without: str = "") -> Module | None:
        """The module below some folders. A package or file in any of them goes before folders without a file.

        The roots are guesses: where two have a package of the same name, the first that has the submodule counts.
        """
        if not parts:
            return None
        for folder in folders:
            found = self._regular(folder, parts[0], without)
            if found is not None and parts[1:]:
                found = self._search(found.folders, parts[1:])
            if found is not None:
                return found
        inner = [os.path.join(folder, parts[0]) for folder in folders if self._is_namespace(folder, parts[0])]
        if not inner or not parts[1:]:
            return Module(None, tuple(inner)) if inner else None
        return self._search(inner, parts[1:])

    def _is_namespace(self, folder: str, name: str) -> bool:
        """Whether it has a package without a file. A compiled module of the name goes before."""
        if self._regular(folder, name) is not None or not self._disk.is_folder(os.path.join(folder, name)):
            return False
        return not self._disk.has_compiled(folder, name)

    def _regular(self, folder: str, name: str, without: str = "") -> Module | None:
        """The package or file of a folder, if it is not the importing file, which does not mean itself by its name."""
        inner = os.path.join(folder, name)
        start = os.path.join(inner, "__init__.py")
        if self._disk.is_file(start):
            return Module(start, (inner,))
        file = f"{inner}.py"
        return Module(file) if file != without and self._disk.is_file(file) else None

    def _own(self, folder: str, site: str, package: str) -> Iterator[Root]:
        top = self._top(folder)
        if package:
            if top != site:
                yield Root(top)
            yield Root(site, frozenset({package}))
        else:
            yield Root(top)
        yield from (Root(each) for each in self._extra if os.path.basename(each) not in _INSTALLED)
        if package:
            return
        for above in [top, *self._project(folder), self._folder]:
            if os.path.basename(above) not in _INSTALLED:
                yield Root(above)
                yield from (Root(src) for src in [os.path.join(above, "src")] if not self._is_package(src))

    def _project(self, folder: str) -> list[str]:
        """The folders from a file's own up to the project's, those inside of packages left out; none without a marker.

        A project folder that is itself marked as a package counts: the file was put there by mistake.
        """
        passed: list[str] = []
        while True:
            marked = any(self._exists(os.path.join(folder, name)) for name in MARKERS)
            if marked or not self._is_package(folder):
                passed.append(folder)
            if marked:
                return passed
            if os.path.dirname(folder) == folder:
                return []
            folder = os.path.dirname(folder)

    def _packages(self) -> list[Root]:
        """Where the installed packages stand that the user named."""
        if self._named is None:
            self._named = []
            for folder in self._path if self._follow else ():
                only = frozenset(name for name in self._follow if self._search((folder,), [name]) is not None)
                if only:
                    self._named.append(Root(folder, only))
        return self._named

    def _top(self, folder: str) -> str:
        """The folder above the topmost package."""
        while self._is_package(folder) and os.path.dirname(folder) != folder:
            folder = os.path.dirname(folder)
        return folder

    def _is_package(self, folder: str) -> bool:
        return self._disk.is_file(os.path.join(folder, "__init__.py"))

    def _exists(self, path: str) -> bool:
        return self._disk.is_file(path) or self._disk.is_folder(path)

    def _is_script(self, file: str) -> bool:
        """Whether a file in a package is run as a script, for which the files beside it are modules.

        It imports nothing relatively and nothing by the name of its package. In a real package, `import wandb` does
        not mean the `wandb.py` beside the file.
        """
        if file not in self._scripts:
            package = self.module_of(file).partition(".")[0]
            text = self._disk.read(file) if self._is_package(os.path.dirname(file)) else ""
            inner = rf"^[ \t]*(?:from[ \t]+\.|(?:from|import)[ \t]+{re.escape(package)}\b)"
            self._scripts[file] = isinstance(text, str) and text != "" and not re.search(inner, text, re.MULTILINE)
        return self._scripts[file]


def _installed(file: str) -> tuple[str, str]:
    """The folder of installed packages that a file is in and the name of its package; empty for other files."""
    parts = file.split(os.sep)
    for index in range(len(parts) - 2, -1, -1):
        if parts[index] in _INSTALLED:
            return os.sep.join(parts[: index + 1]), parts[index + 1].removesuffix(".py")
    return "", ""


def _is_below(folder: str, root: str) -> bool:
    return folder != root and folder.startswith(root.rstrip(os.sep) + os.sep)
