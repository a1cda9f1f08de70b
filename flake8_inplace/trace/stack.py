"""The call stack."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..program.site import Site
from .frames import Class, Frame, Function

if TYPE_CHECKING:
    import libcst as cst

DEPTH = 12
"""The most nested calls that are followed."""


@dataclass(slots=True, eq=False)
class Stack:
    """The functions that are running, outermost first."""

    functions: list[Function] = field(default_factory=list)
    calls: list[Site] = field(default_factory=list)  # where each function was called
    # The frame of the module, then those of the functions. In a statement that runs for one of its names, its own.
    frames: list[Frame] = field(default_factory=list)
    thrown: cst.CSTNode | None = None  # a function whose result is not used, called by way of its decorators
    decorated: cst.CSTNode | None = None  # a function whose decorators are being called, by code of its own file
    module: Site | None = None  # where the running module of torch.nn was made
    part: bool = False  # an augmented assignment writes to a part of a tensor, `x[0] += 1`
    making: list[Class] = field(default_factory=list)  # the classes whose metaclasses are running
    stepping: Site | None = None  # the running call of an optimizer that the program defines

    def runs(self, node: cst.CSTNode) -> int:
        """Return how many calls of a function, given by its node, are running."""
        return sum(1 for function in self.functions if function.node is node)

    def is_statement(self, site: Site) -> bool:
        """Return whether a call is a statement of its own, so that its result is not used."""
        return bool(self.frames) and self.frames[-1].discarded is site.expression

    def from_outside(self) -> bool:
        """Return whether a function with arguments is running as an entry point that code outside the file calls.

        That is a plain function, or a method that overrides one of a class in another file, which calls it.
        """
        if not self.is_entry():
            return False
        owner = self.frames[-1].owner
        return owner is None or (len(self.functions) == 1 and _overrides(owner, self.functions[0]))

    def is_entry(self) -> bool:
        """Return whether a function or method with arguments is running as an entry point."""
        outside = bool(self.functions) and self.calls[0].node is self.functions[0].node
        return outside and any(frame.given for frame in self.frames[:2])


def _overrides(owner: Class, method: Function) -> bool:
    """Return whether a base of a class has a method of that name in another file."""
    bases = [base for base in owner.bases if isinstance(base, Class)]
    away = any(method.name in base.members and base.piece.path != method.piece.path for base in bases)
    return away or any(_overrides(base, method) for base in bases)
