"""What the checkers report: a stale saved tensor, or a misuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..heap.autograd import Write
from ..heap.values import Saved
from ..program.sealed import sealed
from ..program.site import Site

if TYPE_CHECKING:
    pass


@sealed(frozen=True, slots=True, eq=False)
class Hazard:
    """A write to a saved tensor that a later backward still needs."""

    saved: Saved
    write: Write

    def callee(self) -> Site | None:
        """The call that did the writing, where that is one made after, or beside, the function that saved."""
        for saving, writing in zip(self.saved.calls, self.write.calls, strict=False):
            if saving is not writing:
                return writing  # type: ignore[no-any-return]
        depth = len(self.saved.calls)
        return self.write.calls[depth] if len(self.write.calls) > depth else None


@sealed(frozen=True, slots=True)
class Refusal:
    """A write that torch refuses, or that is wrong in itself, whatever was saved: its kind and where."""

    kind: str
    write: Site
    calls: tuple[Site, ...]
