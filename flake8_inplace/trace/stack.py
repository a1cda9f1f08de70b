"""The call stack."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..program.site import Site
from .frames import Frame, Function

if TYPE_CHECKING:
    import libcst as cst

DEPTH = 12
"""Calls that are followed inside one another."""


@dataclass(slots=True, eq=False)
class Stack:
    """The functions that are running, outermost first."""

    functions: list[Function] = field(default_factory=list)
    calls: list[Site] = field(default_factory=list)  # where each of them was called
    frames: list[Frame] = field(default_factory=list)  # theirs, after that of the module
    stepping: Site | None = None  # the call of an optimizer of the program that is running

    def runs(self, node: cst.CSTNode) -> int:
        """How often a function is running, by its node."""
        return sum(1 for function in self.functions if function.node is node)

    def is_statement(self, site: Site) -> bool:
        """Whether a call is all that its statement does, so that nobody uses what it returns."""
        return bool(self.frames) and self.frames[-1].discarded is site.expression

    def from_outside(self) -> bool:
        """Whether a plain function is running that was called, with arguments, by code that is not shown."""
        outside = bool(self.functions) and self.calls[0].node is self.functions[0].node
        return outside and self.frames[-1].owner is None and any(frame.given for frame in self.frames[:2])
