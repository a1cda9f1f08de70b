"""What the linter reports: the overwriting line, the save that it destroys, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A position in the analysed file: line from 1, column in characters from 0."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that takes part in a hazard: where a tensor was saved, where a stale value is read.

    ``note`` says what happens there. ``path`` is its file, and ``name`` what to call it, if it is not in the file of
    the finding.
    """

    place: Place
    note: str
    path: str = ""
    name: str = ""

    def __str__(self) -> str:
        line = f"line {self.place.line}"
        return f"{self.name}, {line}" if self.path else line


Words = tuple[str | Related, ...]
"""A sentence with places in it, which each output format writes in its own way."""


def said(words: Words, where: Callable[[Related], str] = str) -> str:
    """Return a sentence as text. ``where`` writes a place; the default is "line 17"."""
    return "".join(part if isinstance(part, str) else where(part) for part in words)


@dataclass(frozen=True, slots=True)
class Finding:
    """One hazard.

    - ``place``: the token of the mutation; ``noqa`` is matched on its physical line.
    - ``words``: the headline: what happens, where, and what goes wrong.
    - ``saved_at``: where the operator that needs the old values was called, if that is in the same file.
    - ``remedy``: what to write instead.
    - ``conditions``: what must hold besides a backward through the code; nothing if the finding is certain.
    """

    code: str
    place: Place
    words: Words
    saved_at: Place | None = None
    remedy: Words = ()
    conditions: tuple[str, ...] = ()

    @property
    def line(self) -> int:
        return self.place.line

    @property
    def column(self) -> int:
        return self.place.column

    @property
    def message(self) -> str:
        """The headline."""
        return said(self.words)

    @property
    def help(self) -> str:
        """What to write instead, or an empty string."""
        return said(self.remedy)

    @property
    def text(self) -> str:
        """All that flake8 shows, on one line."""
        return f"{self.message}; {self.help}" if self.remedy else self.message

    @property
    def related(self) -> tuple[Related, ...]:
        """Every other place that takes part, each once."""
        parts = (*self.words, *self.remedy)
        return tuple(dict.fromkeys(part for part in parts if isinstance(part, Related)))


@dataclass(frozen=True, slots=True)
class Edit:
    """Text that takes the place of what stands from ``start`` up to ``end``."""

    start: Place
    end: Place
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that remove one finding. ``safe``: they change nothing except that the error goes away."""

    title: str
    safe: bool
    edits: tuple[Edit, ...]


SHOWN = 3
"""So many conditions people are told at most."""


def needed(conditions: Sequence[str]) -> str:
    """The conditions of a finding in words, of many the first ones. Machine-readable formats list them all."""
    shown = conditions if len(conditions) <= SHOWN else conditions[: SHOWN - 1]
    rest = [f"and {len(conditions) - len(shown)} more"] if len(shown) < len(conditions) else []
    return f"only {', '.join((*shown, *rest))}" if shown else ""
