"""Which functions have been read, and from which state the next entry point starts."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..heap.autograd import Write
from ..heap.state import State
from ..heap.values import Tensor, Unknown, Value
from ..program.sealed import sealed
from .frames import Class, Function

if TYPE_CHECKING:
    import libcst as cst

    from ..program.site import Site


@sealed(frozen=True, slots=True)
class Start:
    """An instance that external code created, with unknown arguments, and the state right after that."""

    instance: Value
    state: State
    symbols: dict[Hashable, Unknown]
    tensors: dict[Unknown, Tensor]


@dataclass(slots=True, eq=False)
class Use:
    """The calls of a function of another file: each with the file that it stands in.

    ``derived``: one of them is in grad mode, and is given what may require grad.
    """

    derived: bool = False
    sites: dict[cst.CSTNode, str] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Worklist:
    """What entry points share: which functions were read already, and the state after module-level code."""

    reached: set[cst.CSTNode] = field(default_factory=set)  # functions that were called with known arguments
    entries: set[cst.CSTNode] = field(default_factory=set)  # functions that were read as entry points
    cut: set[cst.CSTNode] = field(default_factory=set)  # functions that other files call, and that were not read whole
    ran: dict[cst.CSTNode, int] = field(default_factory=dict)  # functions that were called, and when they were last
    mentioned: set[str] = field(default_factory=set)  # names in the functions that were read
    private: set[str] = field(default_factory=set)  # private names that were evaluated in grad mode
    module_state: dict[Any, Any] = field(default_factory=dict)  # the store after module-level code
    loading: int = 0  # top-level statements that run, each for a name in the one before
    receivers: dict[Class, Start] = field(default_factory=dict)  # instances that entry points are called on
    uses: dict[tuple[str, str], Use] = field(default_factory=dict)  # calls of functions of others, by path and name
    # Writes to leaves in other files that went through under no_grad, each with a function that was running there.
    spared: dict[tuple[cst.CSTNode, cst.CSTNode], tuple[Function, Site]] = field(default_factory=dict)
    without_grad: frozenset[str] = frozenset()  # functions that other files only call where no backward comes to
    # the saved tensors that a custom backward overwrites, by their positions
    backwards: dict[Function, list[tuple[int, Write]]] = field(default_factory=dict)
