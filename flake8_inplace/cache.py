"""Results of earlier runs, in a folder of JSON lines. Nothing in it is executed.

A process that analyses files appends to a file of its own, a journal. Each line holds what the process has newly seen
of the disk, and then one answer. An answer depends only on its question, the key of the journal, and what the process
had seen of the disk by then. So it holds as long as the disk still shows everything up to its line. That includes
files that were looked for and missing, and the import statements of a project, which say who imports a file.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .program.disk import MAX_BYTES, content, has_compiled, kind_of, said_of
from .program.importers import head, imports_digest, python_files
from .program.sights import COMPILED, IMPORTS, KIND, TEXT, Sights, digest

TAG = "CACHEDIR.TAG"
SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55"
"""What makes a folder a cache, for backups and for us: https://bford.info/cachedir/"""
MAX_AGE = 30 * 24 * 3600
"""Seconds after which a journal that nobody used is deleted."""
MAX_JOURNALS = 64
"""How many journals are kept."""
DAY = 24 * 3600
FRESH = 60
"""Seconds for which a journal without a valid line may be one that another process has just begun."""
_NAME = re.compile(r"[0-9a-f]{32}-[0-9a-f]{16}\.jsonl")
_CHECK = 32


class Cache:
    """Finds the answers of earlier runs that still hold, and keeps new ones.

    ``key`` stands for everything that an answer depends on besides its question and the disk: versions, facts, options.
    A folder that cannot be read or written acts as an empty cache.
    """

    def __init__(self, folder: str, key: str) -> None:
        self.sights = Sights()  # all that this process has seen of the disk
        self._folder = folder
        self._key = digest(key)
        self._known: dict[str, Any] | None = None
        self._useless: set[str] = set()
        self._journal: _Journal | None = None

    def find(self, question: str) -> Any | None:
        """Return the answer to a question, None if there is none that holds."""
        if self._known is None:
            self._known = {}
            looks = Looks()
            for path in self._journals():
                held = _held(path, looks)
                self._known |= held
                self._useless |= set() if held else {path}
        return self._known.get(question)

    def keep(self, question: str, answer: Any) -> None:
        """Note an answer."""
        if self._journal is None or self._journal.process != os.getpid():  # a fork writes its own
            self._journal = _Journal(self._begun())
        self._journal.write(question, answer, self.sights)

    def look_again(self) -> None:
        """Doubt all answers: the disk may have changed."""
        self._known = None

    def _journals(self) -> list[str]:
        """The journals that answer under this key, oldest first."""
        if not _is_cache(self._folder):
            return []
        return [path for path in _listed(self._folder) if os.path.basename(path).startswith(self._key)]

    def _begun(self) -> int | None:
        """Make a journal, and room for it. Return its descriptor; None where that cannot be."""
        try:
            _make(self._folder)
            if not _is_cache(self._folder):
                return None
            self._sweep()
            path = os.path.join(self._folder, f"{self._key}-{os.urandom(8).hex()}.jsonl")
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
        except OSError:
            return None

    def _sweep(self) -> None:
        """Delete the journals that hold nothing any more, that nobody uses, and that are too many."""
        for number, path in enumerate(reversed(_listed(self._folder)), 1):
            age = time.time() - _changed(path)
            if number >= MAX_JOURNALS or age > MAX_AGE or (path in self._useless and age > FRESH):
                with suppress(OSError):
                    os.unlink(path)


class _Journal:
    """The file that this process writes, or none."""

    def __init__(self, file: int | None) -> None:
        self.process = os.getpid()
        self._file = file
        self._written = 0  # how many of the sights

    def write(self, question: str, answer: Any, sights: Sights) -> None:
        if self._file is None:
            return
        entry = {"saw": sights.order[self._written :], "question": question, "answer": answer}
        data = json.dumps(entry, separators=(",", ":")).encode()
        line = digest(data).encode() + data + b"\n"
        try:
            whole = os.write(self._file, line) == len(line)
        except OSError:
            whole = False
        if not whole:  # the disk is full: later lines would depend on the missing one
            os.close(self._file)
            self._file = None
        self._written = len(sights.order)


class Looks:
    """Looks at the disk again, at each thing once."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], Any] = {}
        self._below: dict[str, dict[str, str]] = {}  # by folder, the Python files below it with digests

    def show(self, question: str, path: str, answer: Any) -> bool:
        """Whether the disk still gives an answer."""
        if question == IMPORTS:
            return self._shows_imports(path, answer)
        if (question, path) not in self._seen:
            self._seen[question, path] = _ANSWERS[question](path)
        return bool(self._seen[question, path] == answer)

    def _shows_imports(self, top: str, answer: list[list[str]]) -> bool:
        """Whether the Python files below a folder are the same ones, with the same import statements."""
        if top not in self._below:
            below = self._below[top] = {}
            for path in python_files(top):
                data = head(path)
                if data is not None:
                    below[path] = digest(data)
                    if len(data) < MAX_BYTES:  # all of the file, so that its text is not read again
                        self._seen.setdefault((TEXT, path), below[path])
        found = self._below[top]
        return list(found) == [path for path, _, _ in answer] and all(
            found[path] == whole or self._statements(path) == statements for path, whole, statements in answer
        )

    def _statements(self, path: str) -> str:
        if (IMPORTS, path) not in self._seen:
            self._seen[IMPORTS, path] = imports_digest(head(path) or b"")
        return str(self._seen[IMPORTS, path])


_ANSWERS: dict[str, Callable[[str], Any]] = {
    KIND: kind_of,
    TEXT: lambda path: said_of(content(path)),
    COMPILED: lambda path: has_compiled(*os.path.split(path)),
}


def _held(path: str, looks: Looks) -> dict[str, Any]:
    """What a journal still answers: the lines up to the first that is damaged, or that the disk contradicts."""
    held: dict[str, Any] = {}
    try:
        with open(path, "rb") as file:
            for line in file:
                data = line[_CHECK:-1]
                if line[-1:] != b"\n" or line[:_CHECK] != digest(data).encode():
                    break
                entry = json.loads(data)
                if not all(looks.show(*sight) for sight in entry["saw"]):
                    break
                held[entry["question"]] = entry["answer"]
        if held and time.time() - _changed(path) > DAY:
            os.utime(path)  # it is in use
    except (OSError, ValueError, LookupError, TypeError, RecursionError):  # not a journal of ours from here on
        return held
    return held


def _listed(folder: str) -> list[str]:
    """The journals in a folder, oldest first."""
    try:
        names = [name for name in os.listdir(folder) if _NAME.fullmatch(name)]
    except OSError:
        return []
    return sorted((os.path.join(folder, name) for name in names), key=lambda path: (_changed(path), path))


def _changed(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0


def may_hold(folder: str) -> bool:
    """Whether a folder is a cache, or may become one: it is no place beside other files."""
    return not os.path.lexists(folder) or _is_cache(folder) or _is_empty(folder)


def _make(folder: str) -> None:
    """Make a cache of a folder that is not there, or empty. It appears with its tag, whoever else makes it."""
    if _is_cache(folder):
        return
    if os.path.isdir(folder) and _is_empty(folder):
        _tag(folder)
    elif not os.path.lexists(folder):
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        fresh = f"{folder}-{os.urandom(8).hex()}"
        os.mkdir(fresh)
        try:
            _tag(fresh)
            os.rename(fresh, folder)
        except OSError:  # another process was faster
            shutil.rmtree(fresh, ignore_errors=True)


def _tag(folder: str) -> None:
    """Tell backups, version control and ourselves what the folder is."""
    said = f"{SIGNATURE}\n# flake8-inplace keeps here what it found. It may be deleted at any time.\n"
    for name, text in ((".gitignore", "*\n"), (TAG, said)):  # the tag last: with it, the folder is complete
        part = os.path.join(folder, f"{name}-{os.urandom(8).hex()}")
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(part, os.path.join(folder, name))


def _is_cache(folder: str) -> bool:
    try:
        with open(os.path.join(folder, TAG), "rb") as file:
            return file.read(len(SIGNATURE)) == SIGNATURE.encode()
    except OSError:
        return False


def _is_empty(folder: str) -> bool:
    try:
        return os.listdir(folder) == []
    except OSError:
        return False
