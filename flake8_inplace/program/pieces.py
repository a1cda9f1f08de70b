"""The pieces of a file that are read one by one, each made a tree of when something asks for it."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import libcst

    from .tree import Tree

Definition = ast.FunctionDef | ast.AsyncFunctionDef
_NAMES = (ast.Name, ast.Attribute)


INIT_SUBCLASS = "__init_subclass__"


def heirs(name: str) -> str:
    """Return the name by which the classes that inherit from a class register in it."""
    return f"{name}.{INIT_SUBCLASS}"


def callers(name: str) -> str:
    """Return the name by which what calls a function, or is decorated by it, registers in what the function fills."""
    return f"{name}()"


METACLASS = "metaclass="
SUBCLASSES = "__subclasses__"
IMPORTER = "import_module"


def made(name: str) -> str:
    """Return the name by which the classes that a metaclass makes register in what it fills."""
    return f"{METACLASS}{name}"


def registered(key: str) -> str:
    """Return the name in what `heirs`, `callers` and `made` return, or that of a table."""
    return key.removeprefix(METACLASS).removesuffix(f".{INIT_SUBCLASS}").removesuffix("()")


@dataclass(slots=True, eq=False)
class Piece:
    """What is read on its own: a top-level statement, or what a function does that was cut out of one.

    Of a function at the top level or in a class, a statement keeps the head; what it does is a piece of its own, one of
    ``functions``. ``lines`` are those of the file. ``passes`` are, for a function that makes one call and computes
    nothing, the names in it but for the one that it calls. ``decorators`` are the variables that its decorators begin
    with, ``registers`` the names whose values it may add something to, see `heirs`, `callers` and `made`. ``fills``
    are the tables of the file that it fills, each with the name by which that registers which it puts there.
    ``worth``: it is to be read for itself; ``borrowed``: only for what other files may overwrite. Without a ``body``,
    it is parsed when it is read.
    """

    body: Sequence[ast.stmt] | None
    lines: Sequence[str]
    line: int
    end: int
    binds: frozenset[str] = frozenset()
    _mentions: frozenset[str] | None = frozenset()  # None: not counted yet
    definition: bool = True
    passes: frozenset[str] | None = None
    decorators: frozenset[str] = frozenset()
    registers: frozenset[str] = frozenset()
    fills: frozenset[tuple[str, str]] = frozenset()
    functions: dict[Definition, Piece] = field(default_factory=dict)
    worth: bool = False
    borrowed: bool = False
    column: int = 0
    path: str = ""  # of the file; empty if it is not known
    _tree: Tree | None = None
    _block: libcst.IndentedBlock | None = None

    @property
    def mentions(self) -> frozenset[str]:
        """All names in it."""
        if self._mentions is None:
            names = (inner for part in self.body or () for inner in ast.walk(part))
            found = (each.id if isinstance(each, ast.Name) else each.attr for each in names if isinstance(each, _NAMES))
            self._mentions = frozenset(found)
        return self._mentions

    @property
    def known(self) -> bool:
        """Whether it was read already."""
        return self._block is not None

    @property
    def size(self) -> int:
        """Characters."""
        return sum(len(line) for line in self.lines[self.line - 1 : self.end])

    def says(self, word: str) -> bool:
        """Whether a word is anywhere in the text."""
        return any(word in line for line in self.lines[self.line - 1 : self.end])

    def read(self) -> libcst.IndentedBlock:
        """The statements of the piece. Raises SyntaxError where they are not known."""
        if self._block is None:
            if self.body is None:
                self.body, self.functions = _parsed(self)
            self._block = self.tree.block(self.body)
        return self._block

    @staticmethod
    def nothing() -> libcst.IndentedBlock:
        """No statements."""
        from libcst import IndentedBlock

        return IndentedBlock(())

    def forget(self) -> None:
        """Give up the nodes of the piece, and of what was cut out of it. If it is read again, it is parsed again."""
        for piece in (self, *self.functions.values()):
            piece._tree = piece._block = None
        if self.body:  # without one it is data, of which nothing is read
            self.body, self.functions = None, {}

    def origin(self, node: object) -> int | None:
        """The line that a node was made from, if it was made for this piece."""
        made = self._tree.origins.get(node) if self._tree is not None else None  # type: ignore[call-overload]
        return getattr(made, "lineno", None)

    @property
    def tree(self) -> Tree:
        if self._tree is None:
            from .tree import Tree

            self._tree = Tree(self.lines, self.functions)
        return self._tree


@dataclass(frozen=True, slots=True)
class Row:
    """What is kept of a top-level statement of a file that others import from. ``column`` counts bytes from 0."""

    binds: frozenset[str]
    registers: frozenset[str]
    fills: frozenset[tuple[str, str]]
    definition: bool
    line: int
    end: int
    column: int

    def piece(self, lines: Sequence[str], path: str) -> Piece:
        """The statement, which is parsed when it is read."""
        piece = Piece(None, lines, self.line, self.end, self.binds, definition=self.definition, path=path)
        piece.column, piece.registers, piece.fills = self.column, self.registers, self.fills
        return piece


def _parsed(piece: Piece) -> tuple[list[ast.stmt], dict[Definition, Piece]]:
    """The statement of a piece, and the functions in it. Raises SyntaxError if it is not there any more."""
    own = piece.lines[piece.line - 1 : piece.end]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse("\n" * (piece.line - 1) + "\n".join(own))
        except SyntaxError:  # the first line begins in another statement
            tree = ast.parse("\n".join(piece.lines))
    found = [one for one in tree.body if (first_line(one), one.col_offset) == (piece.line, piece.column)]
    if not found:
        raise SyntaxError("the file changed while it was read")
    return found[:1], {node: _body(node, piece) for node in _functions(found[0])}


def first_line(statement: ast.stmt) -> int:
    """The line that a statement begins at, with its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _functions(statement: ast.stmt) -> Iterator[Definition]:
    if isinstance(statement, ast.ClassDef):
        for inner in statement.body:
            yield from _functions(inner)
    elif isinstance(statement, Definition):
        yield statement


def _body(node: Definition, around: Piece) -> Piece:
    line, end = node.body[0].lineno, node.end_lineno or node.lineno
    return Piece(node.body, around.lines, line, end, _mentions=None, path=around.path)


@dataclass(slots=True)
class Scan:
    """What the cheap pass found out about a file.

    ``registered`` are the definitions that go into a variable, ``backwards`` the functions that are given to
    ``register_autograd`` of an operator: autograd calls them, and records nothing of what they do. ``followed`` are
    the names that it imports from files that are read, ``unused`` those that it imports for others.
    """

    pieces: list[Piece]
    path: str = ""
    binders: dict[str, list[Piece]] = field(default_factory=dict)
    worth: list[Piece] = field(default_factory=list)
    registered: dict[str, list[Piece]] = field(default_factory=dict)
    fillers: dict[str, list[str]] = field(default_factory=dict)  # by what that registers which a table is filled with
    backwards: frozenset[str] = frozenset()
    followed: frozenset[str] = frozenset()
    unused: frozenset[str] = frozenset()

    def mentions(self, names: frozenset[str]) -> bool:
        """Whether any of these names is anywhere in the file."""
        every = (part for piece in self.pieces for part in (piece, *piece.functions.values()))
        return any(not names.isdisjoint(part.mentions) for part in every)
