"""The reports of the checkers: a stale saved tensor, or a misuse."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ..heap.autograd import Write
from ..heap.values import Const, Guard, Saved, Tensor, Unknown
from ..program.sealed import sealed
from ..program.site import Site


@sealed(frozen=True, slots=True)
class Need:
    """What a hazard needs besides a backward: its kind and its place.

    The kinds are "where" and "unless" (a test), "path" (one that is not known), "grad" (of a tensor that was given),
    "possible" (what code that is not shown does), "same" (an expression that may make a copy makes none),
    "shared" (a gradient that another operator gets, too), "device cuda" and "pandas" (a release before 3).
    """

    kind: str
    site: Site | None = None


@sealed(frozen=True, slots=True, eq=False)
class Hazard:
    """A write to a saved tensor that a later backward needs.

    ``needs``: only if these hold. ``end``: what was running when the backward began, or could begin.
    """

    saved: Saved
    write: Write
    needs: tuple[Need, ...] = ()
    end: Site | None = None

    @property
    def cause(self) -> tuple[object, ...]:
        """The write in the text, and what saves there."""
        return self.write.form, self.write.place.expression, self.saved.place.expression

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
    - ``from_outside``: it is in an entry point that code outside the file calls (`Stack.from_outside`).
    - ``carries``: the values that are written have a gradient of their own.
    - ``needs``: what must hold besides.
    - ``other``: the other place that takes part: where the view was taken, or where the value is read.
    """

    kind: str
    write: Site
    calls: tuple[Site, ...]
    beside: tuple[Site, ...]
    from_outside: bool = False
    carries: bool = False
    other: Site | None = None
    needs: tuple[Need, ...] = ()
    array: bool = False  # it writes to an array of numpy

    @property
    def cause(self) -> tuple[object, ...]:
        """What is wrong with the write, and the write in the text, whoever reads it."""
        return self.kind, self.write.expression


@dataclass(slots=True, eq=False)
class Reports:
    """All reports for one file. ``reveals`` are the answers to calls of ``reveal(x)``.

    ``tests`` says where the program tests what a path assumes; None if it goes on only if that holds. ``given`` are the
    parameters that took values of which nothing is known. ``ways`` has the calls that led to each write.
    ``arrays`` are the writes to arrays of numpy; ``frames`` those of them that reach a frame of pandas, and only before
    pandas 3, which copies the memory or locks it. ``casts`` are tensors that a conversion to an unknown type returns if
    it makes no copy, with its place; ``cast`` are the saves of those.
    """

    hazards: dict[tuple[Saved, Write], Hazard] = field(default_factory=dict)
    misuses: list[Refusal] = field(default_factory=list)
    reveals: list[tuple[Site, str]] = field(default_factory=list)
    tests: dict[tuple[Unknown, bool], Need | None] = field(default_factory=dict)
    given: dict[Unknown, Site] = field(default_factory=dict)
    ways: dict[Site, tuple[Site, ...]] = field(default_factory=dict)
    arrays: set[Site] = field(default_factory=set)
    frames: set[Site] = field(default_factory=set)
    casts: dict[Tensor, Site] = field(default_factory=dict)
    cast: dict[Saved, Site] = field(default_factory=dict)

    def needs(self, guard: Guard) -> tuple[Need, ...]:
        """Return what must hold on a path, each once; nothing where the defaults of the parameters lead there."""
        found = [self.tests.get(item, _SOMEWHERE) for item in guard if not _is_default(*item)]
        return tuple(dict.fromkeys(need for need in found if need is not None))


_SOMEWHERE: Final = Need("path")


def _is_default(symbol: Unknown, truth: bool) -> bool:
    """Return whether a symbol has a truth by the default of its parameter."""
    return isinstance(symbol.default, Const) and bool(symbol.default.value) is truth
