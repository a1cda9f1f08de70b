"""Running functions, and the functions and classes that the program defines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..heap.state import Exit
from ..heap.values import Callable_, List, Value
from ..program.pieces import Piece
from ..program.sealed import sealed

if TYPE_CHECKING:
    import libcst as cst


@dataclass(slots=True, eq=False)
class Frame:
    """The variables of a running function, class body or module. ``owner`` is the class whose method runs.

    ``given`` are its arguments, ``born`` is the moment it began, ``times`` when its variables were bound since,
    ``line`` the statement it is at, ``last`` the one at its end, and ``ended`` whether it came there; ``elements`` are
    the targets of its loops.
    """

    vars: dict[str, Value]
    piece: Piece
    parent: Frame | None = None
    owner: Class | None = None
    receiver: Value | None = None
    function: Function | None = None
    given: Sequence[Value] = ()
    exits: list[Exit] = field(default_factory=list)
    yields: List | None = None
    loops: list[Loop] = field(default_factory=list)
    tries: list[Loop] = field(default_factory=list)
    outer: frozenset[str] = frozenset()
    mark: int = 0
    times: dict[str, int] = field(default_factory=dict)
    born: int = 0
    line: cst.CSTNode | None = None
    last: cst.CSTNode | None = None
    ended: bool = False
    elements: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class Loop:
    """The ways out of a loop body, or of a ``try``, that do not pass its end."""

    mark: int
    breaks: list[Exit] = field(default_factory=list)
    continues: list[Exit] = field(default_factory=list)


@sealed(frozen=True, slots=True, eq=False)
class Function(Callable_):
    """A function of the file. ``kind``: "", "static", "class", "property", or "cached", which is one too; ``grad`` what
    a decorator sets, and ``inference`` whether that is inference mode.

    Where the scan cut what it does out of its piece, this is ``text``, and ``node`` no more than the head.
    ``wrapped`` is what decorators of the file made of it, for those who call it by its name.
    ``compiled`` says that ``torch.compile`` or ``torch.jit.script`` decorates it, ``managed`` that
    ``contextlib.contextmanager`` does; ``resume`` takes what such a function yields; ``tensors`` are the parameters
    that are annotated as such.
    """

    name: str
    node: cst.FunctionDef | cst.Lambda
    piece: Piece
    frame: Frame
    text: Piece | None = None
    owner: Class | None = None
    kind: str = ""
    grad: bool | None = None
    defaults: dict[str, Value] = field(default_factory=dict)
    inference: bool = False
    compiled: bool = False
    managed: bool = False
    tensors: tuple[str, ...] = ()
    resume: Callable[[Value], None] | None = None
    wrapped: Value | None = None


@sealed(frozen=True, slots=True, eq=False)
class Class(Callable_):
    """A class of the file, with its bases in order, what its body binds, and what it annotates.

    ``fields`` are the annotated names, which a dataclass or a named tuple takes in this order; a class that writes its
    own ``__init__`` for them has ``generated`` False.
    ``order`` is the one in which names are looked up, once asked for.
    """

    name: str
    node: cst.CSTNode
    piece: Piece
    bases: tuple[Value, ...]
    members: dict[str, Value]
    fields: tuple[str, ...] = ()
    generated: bool = False
    order: list[Value] = field(default_factory=list)
