"""What the checkers report: a stale saved tensor, or a misuse."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..heap.autograd import Write
from ..heap.values import Saved
from ..program.sealed import sealed
from ..program.site import Site


@sealed(frozen=True, slots=True, eq=False)
class Hazard:
    """A write to a saved tensor that a later backward still needs."""

    saved: Saved
    write: Write

    def callee(self) -> Site | None:
        """The call that did the writing, where that is one made after, or beside, the function that saved."""
        for saving, writing in zip(self.saved.calls, self.write.calls, strict=False):
            if saving is not writing:
                return writing
        depth = len(self.saved.calls)
        return self.write.calls[depth] if len(self.write.calls) > depth else None


@sealed(frozen=True, slots=True)
class Refusal:
    """A write that torch refuses, or that is wrong in itself, whatever was saved: its kind and where.

    ``calls`` lead to the write, and ``beside`` to where it goes wrong, or to where the written tensor comes from.
    ``from_outside``: it stands in a plain function, which was read as code outside the file may call it.
    """

    kind: str
    write: Site
    calls: tuple[Site, ...]
    beside: tuple[Site, ...]
    from_outside: bool = False


@dataclass(slots=True, eq=False)
class Reports:
    """All that was reported for one file; ``reveals`` are states that calls of ``reveal(x)`` asked for."""

    hazards: dict[tuple[Saved, Write], Hazard] = field(default_factory=dict)
    misuses: list[Refusal] = field(default_factory=list)
    reveals: list[tuple[Site, str]] = field(default_factory=list)
