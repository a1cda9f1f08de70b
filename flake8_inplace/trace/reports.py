"""The reports of the checkers: a stale saved tensor, or a misuse."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..heap.autograd import Write
from ..heap.values import Saved
from ..program.sealed import sealed
from ..program.site import Site


@sealed(frozen=True, slots=True, eq=False)
class Hazard:
    """A write to a saved tensor that a later backward needs."""

    saved: Saved
    write: Write

    def callee(self) -> Site | None:
        """Return the call that led to the write, if the save was not made inside that call too."""
        for saving, writing in zip(self.saved.calls, self.write.calls, strict=False):
            if saving is not writing:
                return writing
        depth = len(self.saved.calls)
        return self.write.calls[depth] if len(self.write.calls) > depth else None


@sealed(frozen=True, slots=True)
class Refusal:
    """A write that PyTorch refuses, or that is wrong regardless of what was saved: its kind and its place.

    - ``calls``: the calls that led to the write.
    - ``beside``: the calls that led to where it goes wrong, or to where the written tensor comes from.
    - ``from_outside``: it is in a plain function that was read as an entry point.
    - ``carries``: the values that are written have a gradient of their own.
    - ``other``: the other place that takes part: where the view was taken, or where the value is read.
    """

    kind: str
    write: Site
    calls: tuple[Site, ...]
    beside: tuple[Site, ...]
    from_outside: bool = False
    carries: bool = False
    other: Site | None = None


@dataclass(slots=True, eq=False)
class Reports:
    """All reports for one file. ``reveals`` are the answers to calls of ``reveal(x)``."""

    hazards: dict[tuple[Saved, Write], Hazard] = field(default_factory=dict)
    misuses: list[Refusal] = field(default_factory=list)
    reveals: list[tuple[Site, str]] = field(default_factory=list)
