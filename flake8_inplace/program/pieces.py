"""The pieces of a file that are read one by one, each made a tree of when something asks for it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import libcst

    from .tree import Tree

Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True, eq=False)
class Piece:
    """What is read on its own: a top-level statement, or what a function does that was cut out of one.

    Of a function at the top level or in a class, a statement keeps the head; what it does is a piece of its own, one of
    ``functions``. ``lines`` are those of the file. ``passes`` are, for a function that makes one call and computes
    nothing, the names in it but for the one that it calls. ``decorators`` are the variables that its decorators begin
    with, ``registers`` the names of the file whose values they may put it into. ``worth``: it is to be read for itself;
    ``borrowed``: only for what other files may overwrite.
    """

    body: Sequence[ast.stmt]
    lines: Sequence[str]
    line: int
    end: int
    binds: frozenset[str] = frozenset()
    mentions: frozenset[str] = frozenset()
    definition: bool = True
    passes: frozenset[str] | None = None
    decorators: frozenset[str] = frozenset()
    registers: frozenset[str] = frozenset()
    functions: dict[Definition, Piece] = field(default_factory=dict)
    worth: bool = False
    borrowed: bool = False
    path: str = ""  # of the file; empty if it is not known
    _tree: Tree | None = None
    _block: libcst.IndentedBlock | None = None

    @property
    def known(self) -> bool:
        """Whether it was read already."""
        return self._block is not None

    @property
    def size(self) -> int:
        """Characters."""
        return sum(len(line) for line in self.lines[self.line - 1 : self.end])

    def read(self) -> libcst.IndentedBlock:
        """The statements of the piece. Raises SyntaxError where they are not known."""
        if self._block is None:
            self._block = self.tree.block(self.body)
        return self._block

    @staticmethod
    def nothing() -> libcst.IndentedBlock:
        """No statements."""
        from libcst import IndentedBlock

        return IndentedBlock(())

    def forget(self) -> None:
        """Give up the nodes of the piece, and of what was cut out of it."""
        for piece in (self, *self.functions.values()):
            piece._tree = piece._block = None

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


@dataclass(slots=True)
class Scan:
    """What the cheap pass found out about a file.

    ``registered`` are the definitions that go into a variable, ``backwards`` the functions that are given to
    ``register_autograd`` of an operator: autograd calls them, and records nothing of what they do. ``followed`` are
    the names that it imports from files that are read.
    """

    pieces: list[Piece]
    path: str = ""
    binders: dict[str, list[Piece]] = field(default_factory=dict)
    worth: list[Piece] = field(default_factory=list)
    registered: dict[str, list[Piece]] = field(default_factory=dict)
    backwards: frozenset[str] = frozenset()
    followed: frozenset[str] = frozenset()

    def mentions(self, names: frozenset[str]) -> bool:
        """Whether any of these names is anywhere in the file."""
        every = (part for piece in self.pieces for part in (piece, *piece.functions.values()))
        return any(not names.isdisjoint(part.mentions) for part in every)
