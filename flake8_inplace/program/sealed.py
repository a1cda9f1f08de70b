"""A dataclass that is frozen to the type checker, and plain as it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as sealed
else:

    def sealed(frozen: bool, slots: bool, eq: bool = True) -> type:
        """Return the decorator. A frozen dataclass takes three times as long to create an instance of."""
        return dataclass(slots=slots, eq=eq, unsafe_hash=eq)


__all__ = ["sealed"]  # so that the type checker lets others import it from here
