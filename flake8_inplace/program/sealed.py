"""Dataclasses that are frozen to the type checker and plain as they run, and the fields of compiled ones."""

from __future__ import annotations

from dataclasses import Field, dataclass, fields, make_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as sealed
else:

    def sealed(frozen: bool, slots: bool, eq: bool = True) -> type:
        """Return the decorator. A frozen dataclass takes three times as long to create an instance of."""
        return dataclass(slots=slots, eq=eq, unsafe_hash=eq)


def fields_named(*names: str) -> dict[str, Field[Any]]:
    """The fields of a compiled class, which ``dataclasses.replace`` asks for: see ``setup.py``."""
    return {field.name: field for field in fields(make_dataclass("Named", names))}


__all__ = ["fields_named", "sealed"]  # so that the type checker lets others import it from here
