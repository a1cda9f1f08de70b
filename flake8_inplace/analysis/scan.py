"""The cheap pass over the ``ast`` that flake8 hands over: is this file worth analysing, and which pieces of it?

A piece is a top-level statement. Only pieces that write in place, or that mention one that does, are analysed; the
others are parsed when something asks for a name that they bind. libcst is imported on the first parse.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from ..finding import Place
from ..torchfacts import ops as facts

if TYPE_CHECKING:
    import libcst

FRAMEWORKS = frozenset({"torch", "torchvision", "torchaudio", "functorch", "lightning", "pytorch_lightning"})
"""Packages whose import says that a file handles tensors."""

_STEPS = frozenset({"step", "load_state_dict", "reset_parameters", "data"})
_PLAIN = frozenset({"dict", "list", "tuple", "set", "int", "float", "str", "bool", "len", "range", "isinstance"})
"""Builtins that a function may call and still compute nothing."""
_MORE = (ast.BinOp, ast.For, ast.While, ast.With, ast.comprehension, ast.Lambda, ast.ClassDef, ast.Yield)
_OTHERS = frozenset({"add_", "apply_", "copy_", "log_", "map_", "put_", "random_", "set_"})
"""In-place methods whose out-of-place name is mostly a method of something else, such as a set or a logger."""
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(slots=True, eq=False)
class Piece:
    """A top-level statement: its source, the names that it binds and mentions, and whether it writes in place.

    ``passes`` are, for a function that makes one call and computes nothing, the names in its body.
    """

    source: str
    line: int
    binds: frozenset[str]
    mentions: frozenset[str]
    writes: bool
    definition: bool
    passes: frozenset[str] | None = None
    _module: libcst.Module | None = None
    _positions: Any = None

    def parse(self) -> libcst.Module:
        """The piece as a module of its own. Raises libcst.ParserSyntaxError."""
        if self._module is None:
            import libcst

            self._module = libcst.parse_module(self.source)
        return self._module

    def place(self, node: libcst.CSTNode) -> Place:
        """Where a node of this piece stands in the file."""
        if self._positions is None:
            from libcst.metadata import MetadataWrapper, PositionProvider

            self._positions = MetadataWrapper(self.parse(), unsafe_skip_copy=True).resolve(PositionProvider)
        start = self._positions[node].start
        return Place(start.line + self.line - 1, start.column)


@dataclass(slots=True)
class Scan:
    """What the cheap pass found out about a file."""

    pieces: list[Piece]
    binders: dict[str, list[Piece]] = field(default_factory=dict)
    worth: list[Piece] = field(default_factory=list)


def scan(source: str, tree: ast.Module, frameworks: frozenset[str] = FRAMEWORKS) -> Scan | None:
    """The pieces of a file, or None where nothing in it can be a hazard."""
    if not any(name in source for name in frameworks) or not _imports(tree, frameworks):
        return None
    lines = [f"{line}\n" for line in source.split("\n")]  # a form feed ends no line of Python
    pieces = [_piece(statement, lines) for statement in tree.body]
    if not any(piece.writes for piece in pieces):
        return None
    result = Scan(pieces)
    for piece in pieces:
        for name in piece.binds:
            result.binders.setdefault(name, []).append(piece)
    result.worth = _reaching(pieces)
    return result


def wraps(piece: Piece, file: Scan) -> bool:
    """Whether a function only calls one other of the file, with nothing of the file's that the other could not assume.

    Read on its own, the other one shows as much.
    """
    if piece.passes is None:
        return False
    return sum(any(other.definition for other in file.binders.get(name, ())) for name in piece.passes) < 2


def _imports(tree: ast.Module, frameworks: frozenset[str]) -> bool:
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        if any(name.partition(".")[0] in frameworks for name in names):
            return True
    return False


def _piece(statement: ast.stmt, lines: list[str]) -> Piece:
    first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
    end = statement.end_lineno or statement.lineno
    text = "".join(lines[first - 1 : end])
    mentions, writes, calls = set(), False, 0
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            mentions.add(node.id)
        elif isinstance(node, ast.Attribute):
            mentions.add(node.attr)
        elif isinstance(node, ast.Call):
            calls += not isinstance(node.func, ast.Name) or node.func.id not in _PLAIN
        elif isinstance(node, _MORE):
            calls += 2
        writes = writes or _writes(node)
    if isinstance(statement, ast.ClassDef):
        writes = writes or _registers_inplace(statement)
    passes = None
    if isinstance(statement, ast.FunctionDef) and not writes and calls < 2:
        body = (node for line in statement.body for node in ast.walk(line))
        passes = frozenset(node.id for node in body if isinstance(node, ast.Name))
    binds = frozenset(_binds(statement))
    return Piece(text, first, binds, frozenset(mentions), writes, isinstance(statement, _DEFINITIONS), passes)


def _writes(node: ast.AST) -> bool:
    """Whether this node may overwrite a tensor."""
    if isinstance(node, ast.AugAssign):
        return True
    if isinstance(node, ast.Subscript):  # a tensor has no string for an index
        named = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
        return isinstance(node.ctx, ast.Store) and not named
    if isinstance(node, ast.Attribute):
        return node.attr in _STEPS or (node.attr.endswith("_") and not node.attr.endswith("__"))
    if isinstance(node, ast.keyword):
        off = isinstance(node.value, ast.Constant) and not node.value.value
        return node.arg in ("out", "inplace", "max_norm") and not off
    if isinstance(node, ast.Expr):  # x.clamp(0, 1)
        called = node.value.func if isinstance(node.value, ast.Call) else None
        return isinstance(called, ast.Attribute) and f"{called.attr}_" in _confused()
    if isinstance(node, ast.Call):  # nn.ReLU(True)
        return any(isinstance(arg, ast.Constant) and arg.value is True for arg in node.args)
    return isinstance(node, ast.Name) and node.id.endswith("_") and isinstance(node.ctx, ast.Load)


@cache
def _confused() -> frozenset[str]:
    twins = facts.inplace_methods() - _OTHERS
    return frozenset(name for name in twins if name[:-1] in facts.tensor_methods())


def _registers_inplace(node: ast.ClassDef) -> bool:
    return any(isinstance(n, ast.arg) and n.arg == "inplace" for n in ast.walk(node))


def _binds(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, _DEFINITIONS):
        yield statement.name
        return
    for node in _outside_definitions(statement):
        if isinstance(node, _DEFINITIONS):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0]


def _outside_definitions(statement: ast.stmt) -> Iterator[ast.AST]:
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, _DEFINITIONS):
            todo.extend(ast.iter_child_nodes(node))


def _reaching(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces that write in place, and those that mention one that does, at any distance."""
    pieces = list(pieces)
    users: dict[str, list[Piece]] = {}
    for piece in pieces:
        for name in piece.mentions:
            users.setdefault(name, []).append(piece)
    found = {id(piece) for piece in pieces if piece.writes}
    todo = [piece for piece in pieces if piece.writes]
    while todo:
        piece = todo.pop()
        for name in piece.binds:
            for user in users.get(name, ()):
                if id(user) not in found:
                    found.add(id(user))
                    todo.append(user)
    return [piece for piece in pieces if id(piece) in found]
