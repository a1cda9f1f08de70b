"""Which files of a project import a file: found by the words of their import statements, read without a parser."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

MAX_FILES = 20_000
"""How many files of a project are looked through at most."""
MAX_ENTRIES = 200_000
"""How many names of files and folders of a project are looked at."""
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t][^\n]*?[ \t.]import\b|import\b)(?:[^\n(\\]|\\\n)*(?:\([^)]*\))?", re.MULTILINE
)
_LITERAL = re.compile(r"import_module\([ \t]*[\"']([\w.]+)")
_KEYWORD = re.compile(r"\bimport\b")
_COMMENT = re.compile(r"#[^\n]*")
_NAME = re.compile(r"[\s(\\]*([\w.]+)")
_WORD = re.compile(r"[^\W\d]\w*")
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "dist-packages"})


@dataclass(slots=True)
class Index:
    """The files below a folder, by the words of their import statements."""

    files: dict[str, list[str]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    statements: dict[str, list[str]] = field(default_factory=dict)  # the import statements of each file

    def with_word(self, word: str) -> list[str]:
        return self.files.get(word, [])

    def modules(self, path: str) -> set[str]:
        """Return the modules that a file may import, as dotted names with leading dots where they are relative."""
        found: set[str] = set()
        for text in self.statements.get(path, ()):
            origin, names = _KEYWORD.split(text, maxsplit=1)
            each = [found.group(1) for found in map(_NAME.match, _COMMENT.sub("", names).split(",")) if found]
            module = "".join(origin.split()[1:])
            stop = "" if module[-1:] in ("", ".") else "."
            found |= {f"{module}{stop}{name}" for name in each} | ({module} if module else set())
        return found


def read_index(top: str) -> Index:
    """Read the import statements of all Python files below a folder. Hidden folders and environments are left out."""
    found = Index()
    for path in _walk(top):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read(1_000_000)
        except OSError:
            continue
        found.sizes[path] = len(text)
        statements = [*_IMPORT.findall(text), *(f"import {name}" for name in _LITERAL.findall(text))]
        found.statements[path] = statements
        for word in sorted({word for statement in statements for word in _WORD.findall(statement)}):
            found.files.setdefault(word, []).append(path)
    return found


def _walk(top: str) -> list[str]:
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
