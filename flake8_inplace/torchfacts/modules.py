"""Look-up of nn.Module classes: how they are built, what they hold, and the op that calling them runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from .notation import Condition, Op, parse_condition, parse_op
from .ops import layer, table

Constant = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class ModuleFact:
    """A layer class of torch.nn. Its op takes forward's parameters, then the module's own tensors as "self.weight"."""

    name: str
    init: tuple[str, ...]  # constructor parameters in order
    defaults: tuple[tuple[str, Constant], ...]  # those of them with a constant default
    parameters: tuple[str, ...]  # attributes that are an nn.Parameter, however it is built
    when: dict[str, tuple[tuple[Condition, ...], ...]]  # those that some instances lack: the conditions that lead there
    buffers: tuple[str, ...]
    op: Op
    inplace: Op | None  # the op of an instance built with inplace=True
    indices: Op | None  # with return_indices=True

    def default(self, name: str) -> Constant:
        """The constant default of a constructor parameter; None if it has none."""
        return dict(self.defaults).get(name)

    def has(self, parameter: str, options: Mapping[str, Constant]) -> bool:
        """Whether an instance that was built with these arguments, and else the defaults, has a parameter."""
        chosen = {**dict(self.defaults), **options}
        ways = self.when.get(parameter, ((),))
        return any(all(condition.holds(chosen.get(condition.option)) for condition in way) for way in ways)


@cache
def lookup(name: str) -> ModuleFact | None:
    """The facts about "torch.nn.Linear" and its like; None if the class is unknown."""
    entry = layer(name)
    if entry is None:
        return None
    words = [word.partition("~") for word in entry["parameters"].split()]
    when: dict[str, tuple[tuple[Condition, ...], ...]] = {}
    for parameter, _, conditions in words:
        if conditions:
            when[parameter] = (*when.get(parameter, ()), tuple(map(parse_condition, conditions.split("&"))))
    return ModuleFact(
        name=name.rpartition(".")[2],
        init=tuple(entry["init"].split()),
        defaults=tuple(entry["defaults"].items()),
        parameters=tuple(dict.fromkeys(parameter for parameter, _, _ in words)),
        when=when,
        buffers=tuple(entry["buffers"].split()),
        op=parse_op(entry["op"]),
        inplace=parse_op(entry["inplace"]) if "inplace" in entry else None,
        indices=parse_op(entry["indices"]) if "indices" in entry else None,
    )


_CONTAINERS = frozenset({"Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"})
_BASES = {
    "NLLLoss2d": "NLLLoss",
    "ReLU6": "Hardtanh",
    "UpsamplingBilinear2d": "Upsample",
    "UpsamplingNearest2d": "Upsample",
    **{f"ZeroPad{n}d": f"ConstantPad{n}d" for n in (1, 2, 3)},
    **{f"LazyConv{n}d": f"Conv{n}d" for n in (1, 2, 3)},
    **{f"LazyConvTranspose{n}d": f"ConvTranspose{n}d" for n in (1, 2, 3)},
    "LazyLinear": "Linear",
}
"""The layers that are layers of another class too. The other classes of `lookup` inherit from none of one another."""


def is_a(name: str, other: str) -> bool | None:
    """Return whether an instance of one class of torch.nn is one of another; None if not both are layers that we know.

    A class that has no public name, such as ``_BatchNorm``, is not known.
    """
    own, base = map(_layer, (name, other))
    if own is None or base is None:
        return None
    return base in (own, _BASES.get(own))


def _layer(name: str) -> str | None:
    package, _, last = name.rpartition(".")
    return last if package == "torch.nn" and (last in _CONTAINERS or lookup(name) is not None) else None


def names() -> frozenset[str]:
    """Every class `lookup` knows."""
    return frozenset(table()["modules"])
