"""Look-up of nn.Module classes: how they are built, what they hold, and the op that calling them runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from .ops import Op, parse_op, table

Constant = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class ModuleFact:
    """A layer class of torch.nn. Its op takes forward's parameters, then the module's own tensors as "self.weight"."""

    name: str
    init: tuple[str, ...]  # constructor parameters in order
    defaults: tuple[tuple[str, Constant], ...]  # those of them with a constant default
    parameters: tuple[str, ...]  # attributes that are an nn.Parameter, as built with the defaults
    buffers: tuple[str, ...]
    op: Op
    inplace: Op | None  # the op of an instance built with inplace=True

    def default(self, name: str) -> Constant:
        """The constant default of a constructor parameter; None if it has none."""
        return dict(self.defaults).get(name)


@cache
def lookup(name: str) -> ModuleFact | None:
    """The facts about "torch.nn.Linear" and its like; None if the class is unknown."""
    entry = table()["modules"].get(name)
    if entry is None:
        return None
    return ModuleFact(
        name=name.rpartition(".")[2],
        init=tuple(entry["init"].split()),
        defaults=tuple(entry["defaults"].items()),
        parameters=tuple(entry["parameters"].split()),
        buffers=tuple(entry["buffers"].split()),
        op=parse_op(entry["op"]),
        inplace=parse_op(entry["inplace"]) if "inplace" in entry else None,
    )


def names() -> frozenset[str]:
    """Every class `lookup` knows."""
    return frozenset(table()["modules"])
