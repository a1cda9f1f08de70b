"""Running functions, and the functions and classes that the program defines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..heap.state import Exit, Table, moments
from ..heap.values import Callable_, List, Value
from ..program.pieces import Piece
from ..program.sealed import sealed

if TYPE_CHECKING:
    import libcst as cst


@dataclass(slots=True, eq=False)
class Frame:
    """A running function, class body or module."""

    vars: Table[str, Value]
    piece: Piece
    parent: Frame | None = None
    owner: Class | None = None  # the class whose method runs
    receiver: Value | None = None
    function: Function | None = None
    given: Sequence[Value] = ()  # the arguments
    exits: list[Exit] = field(default_factory=list)
    yields: List | None = None
    loops: list[Loop] = field(default_factory=list)
    tries: list[Loop] = field(default_factory=list)
    outer: frozenset[str] = frozenset()  # names that are global or nonlocal
    mark: int = 0
    times: Table[str, int] = field(default_factory=moments)  # when each variable was bound last
    born: int = 0  # the moment at which it began
    line: cst.CSTNode | None = None  # the simple statement that runs
    discarded: cst.BaseExpression | None = None  # the expression that it throws the value of away
    last: cst.CSTNode | None = None  # the body's final statement
    ended: bool = False  # whether control reached it
    elements: frozenset[str] = frozenset()  # the targets of its loops


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
    members: Table[str, Value]
    fields: tuple[str, ...] = ()
    generated: bool = False
    order: list[Value] = field(default_factory=list)
