"""Which files of a project import a file: found by the words of their import statements, read without a parser."""

from __future__ import annotations

import ast
import os
import re
from dataclasses import dataclass, field

MAX_FILES = 20_000
"""How many files of a project are looked through at most, in the order of their paths."""
_IMPORT = re.compile(r"^[ \t]*(?:from|import)\b[^\n(]*(?:\([^)]*\))?", re.MULTILINE)
_LITERAL = re.compile(r"import_module\([ \t]*[\"']([\w.]+)")
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
            try:
                body = ast.parse(text.strip()).body
            except SyntaxError:
                continue  # it only looked like an import: a line of a text
            for statement in body:
                if isinstance(statement, ast.Import):
                    found |= {alias.name for alias in statement.names}
                elif isinstance(statement, ast.ImportFrom):
                    module = "." * statement.level + (statement.module or "")
                    stop = "" if module.endswith(".") else "."
                    found |= {module} | {f"{module}{stop}{alias.name}" for alias in statement.names}
        return found


def index(top: str) -> Index:
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
    found: list[str] = []
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name[0] != "." and name not in _SKIPPED)
        if "pyvenv.cfg" in names:
            folders.clear()
            continue
        found += [os.path.join(folder, name) for name in sorted(names) if name.endswith(".py")]
        if len(found) > MAX_FILES:
            break
    return found[:MAX_FILES]
