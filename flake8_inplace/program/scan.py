"""The prefilter, a cheap pass over the ``ast`` that flake8 hands over: is this file worth analysing, and which pieces?

A piece is a top-level statement, or the body of a function. Only functions that can come to write in place are
analysed. libcst is imported for the first tree.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from . import summary
from .pieces import SUBCLASSES, Definition, Piece, Row, Scan, first_line
from .reach import NOWAY, Reach, Ways
from .registering import BLOCKS, DEFINITIONS, FUNCTIONS, Registered, args, binds, decorators, root
from .units import Group, Triggers, Unit

TABLE = 4_000
"""Characters of a statement beyond which it is taken for data, where it defines nothing and can overwrite nothing."""
FRAMEWORKS = frozenset(
    "torch torchvision torchaudio functorch lightning pytorch_lightning torchtyping torch_scatter torch_sparse "
    "xformers flash_attn apex liger_kernel einops.layers.torch".split()
)
"""Packages whose import says that a file handles tensors."""
ANY_NAME = {"globals": {"globals"}, "modules": {"sys", "modules", "__name__"}}
"""What may look up any name of the file, with the names that show it: ``globals()``, ``sys.modules[__name__]``."""
_LOOKING_UP = frozenset({SUBCLASSES, *ANY_NAME})
GRADIENTS = frozenset("backward requires_grad requires_grad_ grad autograd optim".split())
"""Names that only a program that computes gradients has a use for."""


@dataclass(frozen=True, slots=True)
class Outside:
    """What a file imports from others: which names may overwrite something, and all ``variables`` bound so.

    ``unused`` are those that the file itself never looks up, such as what an ``__init__`` imports for others.
    ``outline`` is that of the file, where there is one already.
    """

    ways: Ways = NOWAY
    variables: frozenset[str] = frozenset()
    unused: frozenset[str] = frozenset()
    outline: Outline | None = None


NOTHING = Outside()


def scan(
    source: str,
    tree: ast.Module,
    triggers: Triggers,
    everything: bool = False,
    path: str = "",
    outside: Outside = NOTHING,
) -> Scan | None:
    """The pieces of a file, or None where nothing in it can be a hazard; ``everything`` as for `Reach.mark`."""
    outline = outside.outline or Outline(tree, triggers, outside.variables)
    if not outline.reach.mark(outside.ways, everything):
        return None
    return pieces(source, tree, outline, path, outside)


class Outline:
    """What one pass over a file found out: its statements, the names they bind, and what they may overwrite."""

    def __init__(self, tree: ast.Module, triggers: Triggers, followed: frozenset[str] = frozenset()) -> None:
        self.parts = summary.read(tree, triggers)
        self.names = [frozenset(binds(statement)) for statement in tree.body]
        looks = [unit.mentions | unit.own for part in self.parts for unit in part.units() if _looks_up(unit)]
        asks = any(SUBCLASSES in names for names in looks)
        self.registered = Registered(tree.body, self.parts, self.names, followed, asks)
        any_name = frozenset(name for names in looks for name, needed in ANY_NAME.items() if needed <= names)
        found = [names.union(self.registered.names(i), any_name) for i, names in enumerate(self.names)]
        self.reach = Reach(zip(found, self.parts, strict=True), triggers, followed)

    def rows(self, tree: ast.Module) -> tuple[Row, ...]:
        """What to keep of each statement, so that it can be read when one of its names is looked up."""
        each = zip(tree.body, self.names, self.registered.keys, self.registered.fills, strict=True)
        return tuple(
            Row(
                names,
                registers,
                fills,
                _is_definition(statement),
                first_line(statement),
                statement.end_lineno or statement.lineno,
                statement.col_offset,
            )
            for statement, names, registers, fills in each
        )


def _looks_up(unit: Unit) -> bool:
    """Whether a unit may look up what it does not name."""
    return not _LOOKING_UP.isdisjoint(unit.mentions) or SUBCLASSES in unit.own


def borrowed(text: str, rows: Iterable[Row], path: str) -> Scan:
    """The pieces of a file that others import from. Each is parsed when one of its names is looked up."""
    lines = text.split("\n")
    result = Scan([_not_data(row.piece(lines, path)) for row in rows], path)
    _index(result)
    return result


def _not_data(piece: Piece) -> Piece:
    """A piece, of which nothing is read where it is a large table."""
    if not piece.definition and piece.size > TABLE:
        piece.body = []
    return piece


def _index(result: Scan) -> None:
    for piece in result.pieces:
        for name in piece.binds:
            result.binders.setdefault(name, []).append(piece)
        for name in piece.registers:
            result.registered.setdefault(name, []).append(piece)
        for table, key in piece.fills:
            result.fillers.setdefault(table, []).append(key)


def pieces(source: str, tree: ast.Module, outline: Outline, path: str = "", outside: Outside = NOTHING) -> Scan:
    """Cut a file into the pieces that are read one by one."""
    lines, registered = source.split("\n"), outline.registered  # a form feed ends no line of Python
    each = zip(tree.body, outline.parts, outline.names, registered.keys, registered.fills, strict=True)
    result = Scan([_piece(*one, lines, path) for one in each], path)
    result.followed, result.unused = outside.variables, outside.unused
    _index(result)
    result.worth = [piece for piece in result.pieces if piece.worth]
    result.backwards = frozenset(name for statement in tree.body for name in _backwards(statement))
    return result


def _backwards(statement: ast.stmt) -> Iterator[str]:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "register_autograd":
        yield from (arg.id for arg in args(call) if isinstance(arg, ast.Name))


def wraps(piece: Piece, file: Scan) -> bool:
    """Whether a function only calls one other of the file, with nothing of the file's that the other could not assume.

    Read on its own, the other one shows as much.
    """
    if piece.passes is None or not file.backwards.isdisjoint(piece.binds):
        return False
    return not any(_defines(file, name) for name in piece.passes | piece.decorators)


def _defines(file: Scan, name: str) -> bool:
    """Whether a name stands for something that another function could not assume: a definition, or an import."""
    return name in file.followed or any(piece.definition or _imports(piece) for piece in file.binders.get(name, ()))


def _imports(piece: Piece) -> bool:
    return any(isinstance(statement, (ast.Import, ast.ImportFrom)) for statement in piece.body or ())


def handles_tensors(source: str, tree: ast.Module, frameworks: frozenset[str]) -> bool:
    """Whether a file imports a package that handles tensors."""
    return any(name in source for name in frameworks) and brings(tree, frameworks)


def brings(tree: ast.Module, frameworks: frozenset[str]) -> bool:
    """Whether a file imports one of these packages, at the top or in a function."""
    for statement in imports(tree):
        names = [alias.name for alias in statement.names]
        if isinstance(statement, ast.ImportFrom):
            names = [] if statement.level else [statement.module or ""]
        if any(name.partition(".")[0] in frameworks or name in frameworks for name in names):
            return True
    return False


def imports(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements of a file. Only statements hold statements, so no expression is looked at."""
    todo: list[Any] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        for name in BLOCKS:
            todo += getattr(node, name, ())


def only_imports(tree: ast.Module) -> bool:
    """Whether a file only binds names: by imports, also in branches, and by constants, lists and tuples of them."""
    todo: list[Any] = [*tree.body]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Try) or (isinstance(node, ast.If) and not _calls(node.test)):
            todo += [inner for name in BLOCKS for inner in getattr(node, name, ())]
        elif isinstance(node, ast.ExceptHandler):
            todo += node.body
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if not all(isinstance(target, ast.Name) for target in targets) or not _is_plain(node.value):
                return False
        elif not isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass)) and not _is_docstring(node):
            return False
    return True


def _calls(node: ast.expr) -> bool:
    return any(isinstance(inner, ast.Call) for inner in ast.walk(node))


def _is_plain(node: ast.expr | None) -> bool:
    if isinstance(node, (ast.List, ast.Tuple)):
        return all(map(_is_plain, node.elts))
    return node is None or isinstance(node, ast.Constant)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _piece(
    statement: ast.stmt,
    part: Unit | Group,
    binds: frozenset[str],
    registers: frozenset[str],
    fills: frozenset[tuple[str, str]],
    lines: list[str],
    path: str,
) -> Piece:
    units, definition = list(part.units()), _is_definition(statement)
    mentions = frozenset[str]().union(*(unit.mentions for unit in units))
    first, end = first_line(statement), statement.end_lineno or statement.lineno
    passes, found = _passes(statement, part), decorators(statement)
    piece = Piece(
        [statement], lines, first, end, binds, mentions, definition, passes, found, registers, fills, path=path
    )
    piece.functions = {node: _body(node, unit, lines, path) for node, unit in _functions(statement, part)}
    piece.worth = any(unit.worth for unit in units)
    piece.borrowed = all(unit.borrowed for unit in units if unit.worth)
    return piece if piece.worth and not piece.borrowed else _not_data(piece)


def _is_definition(statement: ast.stmt) -> bool:
    """Whether a statement runs nothing but makes a function or a class: ``f = lambda x: ...`` is one too."""
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda):
        return all(isinstance(target, ast.Name) for target in statement.targets)
    return isinstance(statement, DEFINITIONS)


def _functions(statement: ast.stmt, part: Unit | Group) -> Iterator[tuple[Definition, Unit]]:
    """The functions in a statement whose bodies are read on their own."""
    if isinstance(part, Group):
        for node, inner in part.parts.items():
            yield from _functions(node, inner)
    elif isinstance(statement, FUNCTIONS):
        yield statement, part


def _body(node: Definition, unit: Unit, lines: list[str], path: str) -> Piece:
    end = node.end_lineno or node.lineno
    piece = Piece(node.body, lines, node.body[0].lineno, end, _mentions=unit.mentions | unit.own, path=path)
    piece.worth, piece.borrowed = unit.worth, unit.borrowed
    return piece


def _passes(statement: ast.stmt, unit: Unit | Group) -> frozenset[str] | None:
    if not isinstance(statement, ast.FunctionDef) or isinstance(unit, Group) or unit.writes or unit.calls > 1:
        return None
    if any(_names_tensor(node) for node in ast.walk(statement.args)):
        return None  # it knows that of what it hands on
    body = statement.body[ast.get_docstring(statement, clean=False) is not None :]
    nodes = [node for line in body for node in ast.walk(line)]
    if any(isinstance(node, ast.Constant) and isinstance(node.value, (str, bool)) for node in nodes):
        return None  # a string or a truth value chooses what the other one does
    called = {root(node.func) for node in nodes if isinstance(node, ast.Call)}
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name)) - called


def _names_tensor(node: ast.AST) -> bool:
    """Whether an annotation says that something is a tensor."""
    said = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    said = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else said
    return said.endswith(("Tensor", "Parameter"))
