"""What the linter reports: the overwriting line, and the save that it destroys."""

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
