"""The text of the program that is being read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..heap.state import variables
from ..heap.values import Const
from ..program.modules import Modules
from ..program.pieces import Piece, Scan
from .frames import Frame, Function

if TYPE_CHECKING:
    import libcst as cst

MAIN = "__main__"
"""The ``__name__`` of the file that is read: it may be a script."""
LONGEST = 2_000_000
"""The most characters of a function or statement; a longer one is not read."""


@dataclass(slots=True, eq=False)
class Module:
    """A file that is read, or that a file imports: its pieces, and the frame that they run in."""

    file: Scan
    frame: Frame


@dataclass(slots=True, eq=False)
class Text:
    """The text of the file that is read. ``others`` are the other files of its project, if they are followed.

    ``scopes`` are the frames that functions were defined in, and those of the bodies of classes.
    """

    file: Scan
    others: Modules | None = None
    modules: dict[str, Module | None] = field(default_factory=dict)  # by their paths; None if unreadable
    unreadable: dict[Piece, str] = field(default_factory=dict)  # pieces that could not be read, and why
    loaded: set[Piece] = field(default_factory=set)  # top-level statements that have run
    skipped: set[cst.CSTNode] = field(default_factory=set)  # branches that are statically dead
    joined: dict[cst.CSTNode, frozenset[str]] = field(default_factory=dict)  # names a function uses as sequences
    arrays: dict[cst.CSTNode, frozenset[str]] = field(default_factory=dict)  # and as arrays of numpy
    tensors: dict[cst.CSTNode, frozenset[str | cst.Assign]] = field(default_factory=dict)  # what surely is a tensor
    generators: dict[cst.CSTNode, bool] = field(default_factory=dict)  # whether these bodies yield
    scopes: list[Frame] = field(default_factory=list)

    def read(self, piece: Piece) -> cst.BaseSuite:
        """Return the statements of a piece. If it can't be read, return none and put the reason in ``unreadable``."""
        if not piece.known and piece.size > LONGEST:
            self.unreadable[piece] = "this is too long to be read"
        if piece not in self.unreadable:
            try:
                return piece.read()
            except SyntaxError as error:
                self.unreadable[piece] = str(error)
            except RecursionError:
                self.unreadable[piece] = "nested too deeply"
        return piece.nothing()

    def body(self, function: Function) -> tuple[cst.BaseSuite | cst.BaseExpression, Piece]:
        """Return the body of a function and its piece. The body is empty if it can't be read."""
        if function.text is None:
            return function.node.body, function.piece
        return self.read(function.text), function.text

    def yields(self, function: Function) -> bool:
        """Whether a function is a generator."""
        known = self.generators.get(function.node)
        if known is None:
            known = self.generators[function.node] = self._yields(function)
        return known

    def _yields(self, function: Function) -> bool:
        if function.text is not None and not function.text.says("yield"):
            return False  # without a tree
        from libcst import Yield  # with the first tree

        from ..program.nodes import has

        return has(self.body(function)[0], Yield)

    def module(self, path: str) -> Module | None:
        """Return a module by its path; None if it cannot be read, or is not to be."""
        if path not in self.modules:
            file = self.others.scan(path) if self.others is not None else None
            self.modules[path] = self.begin(file) if file and file.pieces else None
        return self.modules[path]

    def begin(self, file: Scan) -> Module:
        """Return a module of which nothing has run."""
        name = self.others.project.module_of(file.path) if self.others is not None and file.path else MAIN
        package = name if file.path.endswith("__init__.py") else name.rpartition(".")[0]
        shown = MAIN if file is self.file else name
        known = variables({"__name__": Const(shown), "__package__": Const(package)})
        return Module(file, Frame(known, file.pieces[0]))

    def close(self) -> None:
        """Break reference cycles eagerly; waiting for the cyclic collector costs memory, and its work time.

        What other files lent goes back: the next file may import the same.
        """
        if self.others is not None:
            lent = (module.file for path, module in self.modules.items() if module and path != self.file.path)
            self.others.keep(piece for file in lent for piece in file.pieces if piece in self.loaded)
        for frame in self.scopes:
            frame.vars.clear()
            if frame.owner is not None:
                frame.owner.order.clear()
        for piece in self.file.pieces:
            piece.forget()
