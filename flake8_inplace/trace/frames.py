"""Frames, and the functions and classes that the program defines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..heap.autograd import compatible
from ..heap.join import ASSUMPTIONS
from ..heap.state import Exit, Moments, Table, moments, spread
from ..heap.values import ALWAYS, NONE, Callable_, Guard, Value
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
    loops: list[Loop] = field(default_factory=list)
    tries: list[Loop] = field(default_factory=list)
    outer: frozenset[str] = frozenset()  # names declared global or nonlocal
    mark: int = 0
    times: Table[str, Moments] = field(default_factory=moments)  # when each variable was last bound
    reads: dict[str, int] = field(default_factory=dict)  # when variables with tensors were last read, on any path
    born: int = 0  # when it began
    line: cst.CSTNode | None = None  # the running simple statement
    at: cst.CSTNode | None = None  # the innermost expression that is being evaluated
    discarded: cst.BaseExpression | None = None  # the expression whose value it discards
    last: cst.CSTNode | None = None  # the body's final statement
    ended: bool = False  # whether control reached it
    elements: frozenset[str] = frozenset()  # the targets of its loops

    def scope_of(self, name: str) -> Frame | None:
        """Return the frame that has a variable: this one, or one around it."""
        scope: Frame | None = self
        while scope is not None and name not in scope.vars:
            scope = scope.parent
        return scope

    def local(self, name: str) -> Frame | None:
        """Return the frame that has a variable: this function, or one that it stands in. A module's is none."""
        outer = None if name in self.vars else self.around()
        return outer.local(name) if outer is not None else self if name in self.vars else None

    def value(self, name: str) -> Value:
        """Return what a variable of this function has, or of one that it stands in."""
        scope = self.local(name)
        return scope.vars[name] if scope is not None else NONE

    def is_inside(self, outer: Frame) -> bool:
        """Whether this is a function, or one that stands in it."""
        around = None if self is outer else self.around()
        return self is outer or (around is not None and around.is_inside(outer))

    def around(self) -> Frame | None:
        """Return the frame of the function that this one stands in, if it stands in one."""
        return self.parent if self.parent is not None and self.parent.function is not None else None

    def module(self) -> Frame:
        """Return the frame of the module that a function or class stands in."""
        return self if self.parent is None else self.parent.module()

    def arguments(self) -> Sequence[Value]:
        """Return what the function was given, and the functions that it stands in."""
        outer = self.around()
        return self.given if outer is None else (*self.given, *outer.arguments())

    def bound(self, name: str) -> int:
        """Return when a variable was last bound on any path; when the frame began, if it is a parameter.

        A variable of a function around this one was bound there.
        """
        if name in self.times:
            return max((time for _, time in spread(self.times[name])), default=0)
        outer = None if name in self.vars else self.around()
        return self.born if outer is None else outer.bound(name)

    def held(self, name: str, guard: Guard = ALWAYS, path: Guard = ALWAYS) -> int:
        """Return since when a variable may have the value that it has under ``guard``, on the present ``path``.

        A time with that very guard is when it was bound to the value: both are joined alike. On a path with as many
        assumptions as are told apart, its arms have one guard, so it is the latest of their times.
        """
        if name not in self.times or len(path) >= ASSUMPTIONS:
            return self.bound(name)
        every = spread(self.times[name])
        times = [time for when, time in every if when == guard] if guard else []
        times = times or [time for when, time in every if compatible(when, guard) and compatible(when, path)]
        return min(times, default=self.bound(name))


@dataclass(slots=True, eq=False)
class Loop:
    """The early exits of a loop body or a ``try``, and when it began.

    ``later`` is when an iteration began that stands for all that follow: the second of a loop of unknown length.
    """

    mark: int
    began: int
    later: int = 0
    breaks: list[Exit] = field(default_factory=list)
    continues: list[Exit] = field(default_factory=list)


@sealed(frozen=True, slots=True, eq=False)
class Function(Callable_):
    """A function of the file.

    - ``text``: the piece with its body, if the scan cut it out. ``node`` then has only the head.
    - ``kind``: "", "static", "class", "property", "setter", or "cached" (a cached property).
    - ``grad``, ``inference``: the grad mode that a decorator sets, or None; whether it sets inference mode.
    - ``autocast``: the ``torch.autocast`` that decorates it.
    - ``compiled``: ``torch.compile`` or ``torch.jit.script`` decorates it.
    - ``managed``: ``contextlib.contextmanager`` decorates it.
    - ``memoized``: ``functools.cache`` or ``lru_cache`` decorates it.
    - ``tensors``: the parameters that are annotated as tensors.
    - ``resume``: is called with each value that the function yields. ``once``: it stops after the first.
    - ``wrapped``: the value that decorators of the file made of it, which a call by name calls.
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
    once: bool = False
    wrapped: Value | None = None
    autocast: Value | None = None
    memoized: bool = False

    @property
    def mentions(self) -> frozenset[str]:
        """All names in the body, if it was cut out; in the statement around it otherwise."""
        return (self.text or self.piece).mentions


@sealed(frozen=True, slots=True, eq=False)
class Class(Callable_):
    """A class of the file.

    - ``members``: the names that its body binds.
    - ``fields``: the annotated names, in the order of the parameters of a dataclass or named tuple.
    - ``generated``: a decorator, or NamedTuple, may generate its ``__init__``.
    - ``order``: the method resolution order, computed at the first look-up.
    - ``metaclass``: its metaclass, if that is a class of the program.
    - ``heirs``: the classes that inherit from it directly, as far as they were read.
    """

    name: str
    node: cst.CSTNode
    piece: Piece
    bases: tuple[Value, ...]
    members: Table[str, Value]
    fields: tuple[str, ...] = ()
    generated: bool = False
    order: list[Value] = field(default_factory=list)
    metaclass: Class | None = None
    heirs: list[Class] = field(default_factory=list)


def members(cls: Class) -> Iterator[tuple[str, Value]]:
    """Yield what the body of a class, and of those it inherits from, binds."""
    yield from cls.members.items()
    for base in cls.bases:
        if isinstance(base, Class):
            yield from members(base)
