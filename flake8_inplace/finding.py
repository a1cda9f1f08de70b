"""What the linter reports: the overwriting line, the save that it destroys, and what to write instead."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A position in the analysed file: line from 1, column in characters from 0."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One hazard.

    ``place`` is the token of the mutation (``noqa`` is matched on its physical line); ``saved_at`` is where the
    operator that needs the old values was called, or None when the rule has no such place.
    """

    code: str
    place: Place
    message: str
    saved_at: Place | None = None

    @property
    def line(self) -> int:
        return self.place.line

    @property
    def column(self) -> int:
        return self.place.column


@dataclass(frozen=True, slots=True)
class Edit:
    """Text that takes the place of what stands from ``start`` up to ``end``."""

    start: Place
    end: Place
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that remove one finding. ``safe``: nothing but the finding can tell the difference."""

    title: str
    safe: bool
    edits: tuple[Edit, ...]
