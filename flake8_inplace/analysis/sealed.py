"""A dataclass that nobody changes, and that costs nothing to guard."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as sealed
else:
    from dataclasses import dataclass

    def sealed(frozen: bool, slots: bool, eq: bool = True) -> type:
        """A frozen dataclass to the type checker; a plain one as it runs, which is made in a third of the time."""
        return dataclass(slots=slots, eq=eq, unsafe_hash=eq)


__all__ = ["sealed"]
