"""The cheap pass over the ``ast`` that flake8 hands over: is this file worth analysing, and which pieces of it?

A piece is a top-level statement, or what a function does. Only functions that can come to write in place are
analysed, and nothing is parsed before something asks for it. libcst is imported on the first parse.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..finding import Place
from . import reach
from .reach import Group, Unit

if TYPE_CHECKING:
    import libcst

TABLE = 4_000
"""Characters of a statement beyond which it is taken for data, where it defines nothing and can overwrite nothing."""
FRAMEWORKS = frozenset({"torch", "torchvision", "torchaudio", "functorch", "lightning", "pytorch_lightning"})
"""Packages whose import says that a file handles tensors."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)


@dataclass(slots=True, eq=False)
class Piece:
    """Text that is parsed on its own: a top-level statement, or what a function does that was cut out of one.

    Of a function at the top level or in a class, a statement keeps the head; what it does stands in a piece of its own,
    among ``functions``. ``lines`` says which line of the file each line of ``source`` is. ``passes`` are, for a
    function that makes one call and computes nothing, the names in it. ``worth``: it is to be read for itself.
    """

    source: str
    lines: Sequence[int]
    binds: frozenset[str] = frozenset()
    mentions: frozenset[str] = frozenset()
    definition: bool = True
    passes: frozenset[str] | None = None
    functions: tuple[Piece, ...] = ()
    worth: bool = False
    _module: libcst.Module | None = None
    _positions: Any = None

    @property
    def line(self) -> int:
        return self.lines[0]

    def parse(self) -> libcst.Module:
        """The piece as a module of its own. Raises libcst.ParserSyntaxError."""
        if self._module is None:
            import libcst

            self._module = libcst.parse_module(self.source)
        return self._module

    def heads(self) -> dict[libcst.CSTNode, Piece]:
        """The functions of this piece by their heads."""
        return dict(zip(_heads(self.parse()), self.functions, strict=True)) if self.functions else {}

    def block(self) -> libcst.BaseSuite:
        """What the function does that this is the text of. Raises libcst.ParserSyntaxError."""
        statement: Any = self.parse().body[0]
        found: libcst.BaseSuite = statement.body
        return found

    def place(self, node: libcst.CSTNode) -> Place:
        """Where a node of this piece stands in the file."""
        if self._positions is None:
            from libcst.metadata import MetadataWrapper, PositionProvider

            self._positions = MetadataWrapper(self.parse(), unsafe_skip_copy=True).resolve(PositionProvider)
        start = self._positions[node].start
        return Place(self.lines[start.line - 1], start.column)


def _heads(node: Any) -> Iterator[libcst.FunctionDef]:
    import libcst

    for part in node.body.body if isinstance(node, libcst.ClassDef) else node.body:
        if isinstance(part, libcst.FunctionDef):
            yield part
        elif isinstance(part, libcst.ClassDef):
            yield from _heads(part)


@dataclass(slots=True)
class Scan:
    """What the cheap pass found out about a file."""

    pieces: list[Piece]
    binders: dict[str, list[Piece]] = field(default_factory=dict)
    worth: list[Piece] = field(default_factory=list)


def scan(
    source: str, tree: ast.Module, frameworks: frozenset[str] = FRAMEWORKS, everything: bool = False
) -> Scan | None:
    """The pieces of a file, or None where nothing in it can be a hazard; ``everything`` as for `reach.mark`."""
    if not any(name in source for name in frameworks) or not _imports(tree, frameworks):
        return None
    parts = reach.read(tree)
    names = [frozenset(_binds(statement)) for statement in tree.body]
    if not reach.mark(zip(names, parts, strict=True), everything):
        return None
    lines = _lines(source, [unit for part in parts for unit in part.units()])
    found = zip(tree.body, parts, names, strict=True)
    result = Scan([_piece(statement, part, bound, lines) for statement, part, bound in found])
    for piece in result.pieces:
        for name in piece.binds:
            result.binders.setdefault(name, []).append(piece)
    result.worth = [piece for piece in result.pieces if piece.worth]
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


def _lines(source: str, units: Iterable[Unit]) -> list[str]:
    """The lines of a file, empty where they say nothing.

    libcst charges for comments and spaces as for everything else, and loses a line with nothing but a backslash.
    """
    quoted = frozenset[int]().union(*(unit.quoted for unit in units))
    lines = [f"{line}\n" for line in source.split("\n")]  # a form feed ends no line of Python
    for before, line in enumerate(lines):
        said = line.strip()
        if before not in quoted and (said in ("", "\\") or said.startswith("#")):
            lines[before] = ""
    return lines


def _piece(statement: ast.stmt, part: Unit | Group, binds: frozenset[str], lines: list[str]) -> Piece:
    text = {number: line for number, line in _text(statement, lines) if line}
    units, definition = list(part.units()), isinstance(statement, _DEFINITIONS)
    worth = any(unit.worth for unit in units)
    source = "".join(text.values())
    return Piece(
        source if definition or worth or len(source) < TABLE else "\n",
        list(text),
        binds,
        frozenset().union(*(unit.mentions for unit in units)),
        definition,
        _passes(statement, part),
        tuple(_body(node, unit, lines) for node, unit in _functions(statement, part)),
        worth,
    )


def _text(statement: ast.stmt, lines: list[str]) -> Iterator[tuple[int, str]]:
    """The lines of a top-level statement, or of one in a class; of functions the heads, of classes no docstrings."""
    first, end = _first(statement), statement.end_lineno or statement.lineno
    if isinstance(statement, _DEFINITIONS):
        begin = _first(statement.body[0])
        before = lines[begin - 1].encode()[: statement.body[0].col_offset].decode()
        if isinstance(statement, _FUNCTIONS):
            yield from ((number, lines[number - 1]) for number in range(first, begin))
            yield begin, f"{before}...\n"
            return
        if before.isspace():
            yield from ((number, lines[number - 1]) for number in range(first, begin))
            for part in _said(statement):
                yield from _text(part, lines)
            return
    yield from ((number, lines[number - 1]) for number in range(first, end + 1))


def _said(node: Definition | ast.ClassDef) -> list[ast.stmt]:
    """The body of a definition, without a docstring if anything follows it."""
    return node.body[1:] if len(node.body) > 1 and ast.get_docstring(node, clean=False) is not None else node.body


def _functions(statement: ast.stmt, part: Unit | Group) -> Iterator[tuple[Definition, Unit]]:
    """The functions in a statement whose bodies are read on their own, in the order of the text."""
    if isinstance(part, Group):
        for node, inner in part.parts.items():
            yield from _functions(node, inner)
    elif isinstance(statement, _FUNCTIONS):
        yield statement, part


def _body(node: Definition, unit: Unit, lines: list[str]) -> Piece:
    first = _said(node)[0]
    begin, end = _first(first), node.end_lineno or node.lineno
    line = lines[begin - 1].encode()
    before, after = line[: first.col_offset].decode(), line[first.col_offset :].decode()
    indent = before if before.isspace() else " " * len(before)  # `def f(): return 1` keeps its columns
    text = {begin - 1: "if 1:\n", begin: indent + after}
    text |= {number: lines[number - 1] for number in range(begin + 1, end + 1) if lines[number - 1]}
    return Piece("".join(text.values()), list(text), mentions=unit.mentions | unit.own, worth=unit.worth)


def _passes(statement: ast.stmt, unit: Unit | Group) -> frozenset[str] | None:
    if not isinstance(statement, ast.FunctionDef) or isinstance(unit, Group) or unit.writes or unit.calls > 1:
        return None
    return frozenset(node.id for line in statement.body for node in ast.walk(line) if isinstance(node, ast.Name))


def _first(statement: ast.stmt) -> int:
    """The line that a statement begins at, with its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


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
