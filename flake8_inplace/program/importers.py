"""Which files of a project import a file: found by the words of their import statements, read without a parser."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import lazy
from .exports import Import
from .pieces import IMPORTER, METACLASS, SUBCLASSES, callers, heirs, made
from .sights import digest

MAX_FILES = 20_000
"""How many files of a project are looked through at most."""
MAX_ENTRIES = 200_000
"""How many names of files and folders of a project are looked at."""
_MAX_BYTES = 1_000_000
"""How much of a file is read."""
_IMPORT = re.compile(r"\n[ \t]*(?:from[ \t][^\n]*?[ \t.]import\b|import\b)(?:[^\n(\\]|\\\n)*(?:\([^)]*\))?")
_REGISTERS = re.compile(r"\n(?:@?(?=\w+[.\[])|@[\w.]+\(|[\w.]+\((?=[^()\n]*\)\())(\w+)\b")
"""A top-level decorator or statement that looks up something on a name, ``@LAYERS.register("act")``, or gets one."""
_CALLED = re.compile(r"\n@?(\w+)(?=\(|[ \t]*[#\n])")
"""What a top-level statement or decorator calls."""
_CLASS = re.compile(r"\nclass[ \t]+\w+[ \t]*\(([^)]*)\)")
_NAMING = (f"{IMPORTER}(", "resolve_name(", "locate(")
"""Calls that import what a string names."""
_CALL = re.compile(r"import_module\([ \t]*(?:[\"']([\w.]+)[\"'][ \t]*[,)])?")
_STRING = re.compile(r"[\"']([\w.:]+)[\"']")
_LONGEST = 100
"""The most characters of the full name of something in a string."""
_DOTS = str.maketrans(".:", "__")
_KEYWORD = re.compile(r"\bimport\b")
_COMMENT = re.compile(r"#[^\n]*")
_NAME = re.compile(r"[\s(\\]*([\w.]+)")
_WORD = re.compile(r"[^\W\d]\w*")
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "dist-packages"})


@dataclass(slots=True)
class Index:
    """The files below a folder, by the words of their import statements.

    ``registering`` are those that may register something by a name, ``@LAYERS.register("act")``, by that name.
    """

    files: dict[str, list[str]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    statements: dict[str, list[str]] = field(default_factory=dict)  # the import statements of each file
    registering: dict[str, list[str]] = field(default_factory=dict)
    sight: list[tuple[str, str, str]] = field(default_factory=list)  # for a cache: digests of each file and of them
    _modules: dict[str, dict[str, set[str]]] = field(default_factory=dict)  # what was asked for already

    def with_word(self, word: str) -> list[str]:
        return self.files.get(word, [])

    def modules(self, path: str) -> dict[str, set[str]]:
        """Return the modules that a file may import, with the names that it imports from each.

        They are dotted names, with leading dots where they are relative.
        """
        known = self._modules.get(path)
        if known is None:
            known = self._modules[path] = self._read(path)
        return known

    def _read(self, path: str) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for text in self.statements.get(path, ()):
            origin, names = _KEYWORD.split(text, maxsplit=1)
            each = [found.group(1) for found in map(_NAME.match, _COMMENT.sub("", names).split(",")) if found]
            module = "".join(origin.split()[1:])
            stop = "" if module[-1:] in ("", ".") else "."
            if module:
                found.setdefault(module, set()).update(name for name in each if "." not in name)
            for name in each:
                if not module or "." in name:
                    found.setdefault(f"{module}{stop}{name}", set())
        return found

    def imports(self, path: str, name: str) -> Iterator[Import]:
        """Yield the imports of a name in a file."""
        yield from (Import(module, name) for module, names in self.modules(path).items() if name in names)


def read_index(top: str, for_cache: bool = False) -> Index:
    """Read the import statements of all Python files below a folder. Hidden folders and environments are left out."""
    found = Index()
    named: dict[str, list[str]] = {}
    for path in python_files(top):
        data = head(path)
        if data is None:
            continue
        text = _decoded(data)
        found.sizes[path] = len(text)
        found.statements[path], named[path] = _statements(text), _named(text)
        registering = _registering(text)
        if for_cache:
            found.sight.append((path, digest(data), _told(found.statements[path], named[path], registering)))
        for name in registering:
            found.registering.setdefault(name, []).append(path)
    parts = {os.path.splitext(part)[0] for path in named for part in path.split(os.sep)}
    for path, statements in found.statements.items():
        if IMPORTER in found.registering:
            statements += [each for each in named[path] if _WORD.findall(each)[1] in parts]
        for word in sorted({word for statement in statements for word in _WORD.findall(statement)}):
            found.files.setdefault(word, []).append(path)
    return found


def head(path: str) -> bytes | None:
    """Return what is read of a file for its import statements; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_BYTES)
    except OSError:
        return None


def imports_digest(data: bytes) -> str:
    """What tells the import statements of such a text, and the names that it registers by, from others."""
    text = _decoded(data)
    return _told(_statements(text), _named(text), _registering(text))


def _told(*found: list[str]) -> str:
    return digest("\0".join(word for words in found for word in words))


def _registering(text: str) -> list[str]:
    """The names that a file may register something by, or asks for what others have registered.

    A search for the ends of lines is faster than one for `^`.
    """
    text = f"\n{text}\n"
    bases = (base.strip() for found in _CLASS.findall(text) for base in found.split(","))
    inherits = (key for base in bases if (key := _inherited(base)))
    asks = [SUBCLASSES] if f".{SUBCLASSES}(" in text else []
    asks += [IMPORTER] if any(call in text for call in _NAMING) else []
    return [*dict.fromkeys([*_REGISTERS.findall(text), *inherits, *map(callers, _CALLED.findall(text)), *asks])]


def _inherited(base: str) -> str:
    """What a class registers by through something in the brackets of its head: a base, or its metaclass."""
    first, said, value = base.partition("=")
    if said:
        return made(value.strip().rpartition(".")[2]) if f"{first.strip()}=" == METACLASS else ""
    return heirs(first.rpartition(".")[2])


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def _statements(text: str) -> list[str]:
    """The import statements of a file, and such as stand for the modules that it imports by calls."""
    names: list[str] = _CALL.findall(text)
    if "" in names:  # the name of a module is put together
        names = lazy.module_names(match.group(1) for match in _STRING.finditer(text))
    stand = (f"{start}import {name}" for name in names for start in ("", "from . ")[: 1 if name[0] == "." else 2])
    return [*_IMPORT.findall(f"\n{text}"), *stand]


def _named(text: str) -> list[str]:
    """Return the statements that would import what strings of a file may name: "package.module.Class".

    To cut the text at its quotes is faster than a search.
    """
    parts = [part for part in text.replace("'", '"').split('"') if "." in part or ":" in part]
    names = dict.fromkeys(part for part in parts if len(part) < _LONGEST and part.translate(_DOTS).isidentifier())
    split = [name.rpartition(":" if ":" in name else ".") for name in names]
    return [f"from {module} import {name}" for module, _, name in split if module][: lazy.MAX_COMPUTED]


def python_files(top: str) -> list[str]:
    """The Python files below a folder, folder by folder: those of a level before those of the next one.

    A folder of data with a million files must not keep a linter waiting.
    """
    found: list[str] = []
    entries, level = 0, [top]
    while level:
        deeper: list[str] = []
        for folder in level:
            names, folders = _listed(folder)
            entries += len(names) + len(folders)
            if entries > MAX_ENTRIES:
                return found
            if "pyvenv.cfg" in names:
                continue
            found += [os.path.join(folder, name) for name in names if name.endswith(".py")]
            if len(found) > MAX_FILES:
                return found[:MAX_FILES]
            deeper += [os.path.join(folder, name) for name in folders if name[0] != "." and name not in _SKIPPED]
        level = deeper
    return found


def _listed(folder: str) -> tuple[list[str], list[str]]:
    """The names of the files of a folder, and of the folders in it, in order.

    Links to folders are not followed, and pipes and devices, which would keep their reader waiting, are left out.
    """
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
            files = [entry.name for entry in entries if entry.is_file()]
            return files, [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return [], []
