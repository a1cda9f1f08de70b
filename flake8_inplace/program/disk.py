"""Files as the linter sees them: what stands where, their text, and why a text cannot be had."""

from __future__ import annotations

import importlib.util
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from .sights import COMPILED, KIND, TEXT, Sights, digest

MAX_BYTES = 1_000_000
"""Larger files are data or generated code. They are not read."""
_ATTEMPTS = 3
"""How often to read a file that changes while it is read."""
Stamp = str | tuple[int, int] | None
"""What the text of a file can be told apart by: an unsaved text itself, or the time of change and the size on disk."""


class Reason(Enum):
    """Why an import leads nowhere, in words for a user."""

    NOT_FOUND = "there is no such module in the project"
    COMPILED = "it is a compiled module"
    OUTSIDE = "the relative import leaves the project"
    UNREADABLE = "the file cannot be read"
    TOO_LARGE = f"the file has more than {MAX_BYTES} bytes"
    NOT_TEXT = "the file is not Python text"
    SYNTAX = "the file has a syntax error"
    TOO_DEEP = "the file is nested too deeply"
    CHANGING = "the file changes while it is read"
    NOT_DEFINED = "the module does not define the name"
    DYNAMIC = "the module's `__getattr__` computes the name"
    VALUE = "it is an attribute of a value, not of a module"
    CIRCLE = "the modules import the name from each other and none defines it"
    TOO_FAR = "too many modules import the name from each other"


@dataclass(frozen=True, slots=True)
class Unknown:
    """An import that cannot be followed: ``what`` names the import or the file."""

    reason: Reason
    what: str

    def __str__(self) -> str:
        return f"{self.what}: {self.reason.value}"

    def said(self, name_of: Callable[[str], str]) -> str:
        """In words."""
        return f"unknown: {self}"


class Disk:
    """Remembers what stands where until `refresh`, so that one run sees one state of the disk.

    ``sights`` take down what it answered, for a cache.
    """

    def __init__(self, sights: Sights | None = None) -> None:
        self.sights = sights
        self._texts: dict[str, str] = {}
        self._modes: dict[str, int] = {}
        self._stamps: dict[str, Stamp] = {}
        self._compiled: dict[tuple[str, str], bool] = {}

    def refresh(self) -> None:
        """Look at the disk anew. Unsaved texts stay."""
        self._modes.clear()
        self._stamps.clear()
        self._compiled.clear()

    def override(self, path: str, text: str | None) -> None:
        """Let an unsaved text stand for a file, which need not exist; None ends that."""
        self.replace(path, text)
        if text is not None:
            self._note(TEXT, path, digest(text))

    def replace(self, path: str, text: str | None) -> None:
        """As `override`, but no cache hears of the text."""
        self._texts.pop(path, None)
        if text is not None:
            self._texts[path] = text

    def unsaved(self) -> dict[str, str]:
        """Return the texts that stand for files, by path."""
        return dict(self._texts)

    def is_unsaved(self) -> bool:
        """Whether any text is another than the file on disk has."""
        return any(digest(text) != said_of(content(path)) for path, text in self._texts.items())

    def is_file(self, path: str) -> bool:
        """Whether something other than a folder stands there. A symlink that leads nowhere does not count."""
        mode = self._mode(path)
        return path in self._texts or (mode != 0 and not stat.S_ISDIR(mode))

    def is_folder(self, path: str) -> bool:
        return stat.S_ISDIR(self._mode(path))

    def stamp(self, path: str) -> Stamp:
        """What tells this text of the file from others; None if there is none."""
        if path in self._texts:
            return self._texts[path]
        if self._mode(path) == 0:
            return None
        return self._stamps[path]

    def read(self, path: str) -> str | Unknown:
        """Return the text of a file, decoded as Python does."""
        if path in self._texts:
            return self._texts[path]
        data = content(path)
        if self.sights is not None:
            self.sights.note(TEXT, path, said_of(data))
        if isinstance(data, Reason):
            return Unknown(data, path)
        try:
            text = importlib.util.decode_source(data)
        except (SyntaxError, ValueError, LookupError):
            return Unknown(Reason.NOT_TEXT, path)
        return Unknown(Reason.NOT_TEXT, path) if "\0" in text else text

    def has_compiled(self, folder: str, name: str) -> bool:
        """Whether a folder has a module of this name that is not Python text. Lists the folder: ask last."""
        if (folder, name) not in self._compiled:
            found = self._compiled[folder, name] = has_compiled(folder, name)
            self._note(COMPILED, os.path.join(folder, name), found)
        return self._compiled[folder, name]

    def _mode(self, path: str) -> int:
        mode = self._modes.get(path)
        if mode is None:
            try:
                found = os.stat(path)
            except (OSError, ValueError):  # among others for symlink loops, long names and null characters
                mode = 0
            else:
                mode = found.st_mode
                self._stamps[path] = (found.st_mtime_ns, found.st_size)
            self._modes[path] = mode
            self._note(KIND, path, _kind(mode))
        return mode

    def _note(self, question: str, path: str, answer: object) -> None:
        if self.sights is not None:
            self.sights.note(question, path, answer)


def kind_of(path: str) -> int:
    """What stands there: 0: nothing, 1: a file, 2: a folder."""
    try:
        return _kind(os.stat(path).st_mode)
    except (OSError, ValueError):
        return 0


def _kind(mode: int) -> int:
    return 2 if stat.S_ISDIR(mode) else int(mode != 0)


def has_compiled(folder: str, name: str) -> bool:
    """Whether a folder has a module of this name that is not Python text."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return any(each.startswith(f"{name}.") and each.endswith((".so", ".pyd")) for each in names)


def content(path: str) -> bytes | Reason:
    """Return the bytes of a file, or why it is not read."""
    try:
        return _bytes(path)
    except (OSError, ValueError):
        return Reason.UNREADABLE


def said_of(data: bytes | Reason) -> str:
    """Return what tells such an answer from others."""
    return data.name if isinstance(data, Reason) else digest(data)


def _bytes(path: str) -> bytes | Reason:
    for _ in range(_ATTEMPTS):
        with open(path, "rb", opener=_open) as file:
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                return Reason.UNREADABLE
            data = file.read(MAX_BYTES + 1)
            after = os.fstat(file.fileno())
        if len(data) > MAX_BYTES:
            return Reason.TOO_LARGE
        if (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size) and len(data) == after.st_size:
            return data
    return Reason.CHANGING


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # do not wait for someone to write into a pipe
