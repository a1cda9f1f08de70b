"""The prefilter, a cheap pass over the ``ast`` that flake8 hands over: is this file worth analysing, and which pieces?

A piece is a top-level statement, or the body of a function. Only functions that can come to write in place are
analysed. libcst is imported for the first tree.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from . import summary
from .pieces import INIT_SUBCLASS, Definition, Piece, Row, Scan, callers, first_line, heirs
from .reach import NOWAY, Reach, Ways
from .units import Group, Triggers, Unit

TABLE = 4_000
"""Characters of a statement beyond which it is taken for data, where it defines nothing and can overwrite nothing."""
FRAMEWORKS = frozenset(
    "torch torchvision torchaudio functorch lightning pytorch_lightning torchtyping torch_scatter torch_sparse "
    "xformers flash_attn apex liger_kernel einops.layers.torch".split()
)
"""Packages whose import says that a file handles tensors."""
_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")
"""Fields that hold statements, or what holds them."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_CONTAINERS = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
_ANY_NAME = "globals"
"""Who mentions it may look up any name of the file."""
_MAKE_CONTAINERS = frozenset({"dict", "list", "set", "OrderedDict", "defaultdict", "deque"})
GRADIENTS = frozenset("backward requires_grad requires_grad_ grad autograd optim".split())
"""Names that only a program that computes gradients has a use for."""


def scan(
    source: str,
    tree: ast.Module,
    triggers: Triggers,
    everything: bool = False,
    path: str = "",
    outside: Ways = NOWAY,
    followed: frozenset[str] = frozenset(),
) -> Scan | None:
    """The pieces of a file, or None where nothing in it can be a hazard; ``everything`` as for `Reach.mark`.

    ``outside`` are the names that the file imports from others and that may overwrite something, ``followed`` all
    that it imports from files that are read.
    """
    outline = Outline(tree, triggers, followed)
    if not outline.reach.mark(outside, everything):
        return None
    return pieces(source, tree, outline, path, followed)


class Outline:
    """What one pass over a file found out: its statements, the names they bind, and what they may overwrite."""

    def __init__(self, tree: ast.Module, triggers: Triggers, followed: frozenset[str] = frozenset()) -> None:
        self.parts = summary.read(tree, triggers)
        self.names = [frozenset(_binds(statement)) for statement in tree.body]
        known = _defined(tree.body) | followed
        tables = frozenset(name for statement in tree.body for name in _table(statement, known))
        self.tables = list(_registers(tree.body, self.parts, self.names, followed, tables))
        self.fills = [
            part.mentions & tables if isinstance(statement, _FUNCTIONS) and isinstance(part, Unit) else frozenset()
            for statement, part in zip(tree.body, self.parts, strict=True)
        ]
        heard = _heard(self.parts)
        looks_up = any(_ANY_NAME in unit.mentions for part in self.parts for unit in part.units())
        any_name = [_ANY_NAME] if looks_up else []
        found = [
            names.union(others, *(heard.get(other, ()) for other in others), any_name)
            for names, others in zip(self.names, self.tables, strict=True)
        ]
        self.reach = Reach(zip(found, self.parts, strict=True), triggers, followed)

    def rows(self, tree: ast.Module) -> tuple[Row, ...]:
        """What to keep of each statement, so that it can be read when one of its names is looked up."""
        each = zip(tree.body, self.names, self.tables, self.fills, strict=True)
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


def _heard(parts: list[Unit | Group]) -> dict[str, frozenset[str]]:
    """For each class of a file, by what its `heirs` register by: the classes that its ``__init_subclass__`` is of."""
    found: dict[str, frozenset[str]] = {}
    for part in parts:
        if isinstance(part, Group):
            above = frozenset[str]().union(*(found.get(heirs(base), ()) for base in part.bases))
            hears = any(method.name == INIT_SUBCLASS for method in part.methods)
            found[heirs(part.name)] = above | ({part.name} if hears or above else set())
    return found


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
        for name in piece.fills:
            result.fillers.setdefault(name, []).extend(piece.binds)


def pieces(
    source: str, tree: ast.Module, outline: Outline, path: str = "", followed: frozenset[str] = frozenset()
) -> Scan:
    """Cut a file into the pieces that are read one by one."""
    lines = source.split("\n")  # a form feed ends no line of Python
    each = zip(tree.body, outline.parts, outline.names, outline.tables, outline.fills, strict=True)
    result = Scan([_piece(*one, lines, path) for one in each], path, followed=followed)
    _index(result)
    result.worth = [piece for piece in result.pieces if piece.worth]
    result.backwards = frozenset(name for statement in tree.body for name in _backwards(statement))
    return result


def _backwards(statement: ast.stmt) -> Iterator[str]:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "register_autograd":
        yield from (arg.id for arg in _args(call) if isinstance(arg, ast.Name))


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
        for name in _BLOCKS:
            todo += getattr(node, name, ())


def only_imports(tree: ast.Module) -> bool:
    """Whether a file only binds names: by imports, also in branches, and by constants, lists and tuples of them."""
    todo: list[Any] = [*tree.body]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Try) or (isinstance(node, ast.If) and not _calls(node.test)):
            todo += [inner for name in _BLOCKS for inner in getattr(node, name, ())]
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


def _registers(
    body: list[ast.stmt],
    parts: list[Unit | Group],
    names: list[frozenset[str]],
    followed: frozenset[str],
    tables: frozenset[str],
) -> Iterator[frozenset[str]]:
    """For each statement the names whose values it may add something to: tables, registries, and base classes.

    A definition adds itself to the variables of the file that its decorators are, are given, or mention in what they
    do. So it does to functions, classes, and names of other files, that the decorators look something up in,
    ``@f.register``, or are given, ``@register(HEADS)``.
    """
    units: dict[str, list[Unit]] = {}
    variables: set[str] = set()
    functions = frozenset(statement.name for statement in body if isinstance(statement, _FUNCTIONS))
    classes = _defined(body) - functions
    for statement, part, bound in zip(body, parts, names, strict=True):
        for name in bound:
            units.setdefault(name, []).extend(part.units())
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            variables |= bound
    others, bases, callees = functions | followed, classes | followed, classes | functions | followed
    for statement in body:
        found = {name for name in _filled(statement) if name in tables or name in bases}
        roots, called = _decorators(statement).intersection(units), {*_called(statement, callees)}
        if roots:
            mentioned = (unit.mentions for root in roots for unit in units[root])
            looked_up, given = _decorators(statement, ast.Attribute), frozenset(_given(statement))
            found |= variables & roots.union(given, *mentioned)
            found |= (others & (looked_up | given)) | (classes & looked_up)
            called |= roots - looked_up
        elif called:
            mentioned = (unit.mentions for name in called for unit in units.get(name, ()))
            found |= tables & frozenset[str]().union(*mentioned)
        found |= {callers(name) for name in called if name in followed}
        found |= {heirs(name) for name in _bases(statement, bases)}
        yield frozenset(found)


def _defined(body: list[ast.stmt]) -> frozenset[str]:
    return frozenset(statement.name for statement in body if isinstance(statement, _DEFINITIONS))


def _called(statement: ast.stmt, known: frozenset[str]) -> Iterator[str]:
    """The function that a statement calls with one of these definitions: ``register("max", max_pool)``."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and any(_root(arg) in known for arg in _args(call))
    ):
        yield call.func.id


def _args(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _bases(statement: ast.stmt, names: frozenset[str]) -> Iterator[str]:
    """The names of the base classes of a class that these names of a file, or modules among them, bring."""
    for base in statement.bases if isinstance(statement, ast.ClassDef) else ():
        if _root(base) in names:
            yield base.attr if isinstance(base, ast.Attribute) else _root(base)


def _table(statement: ast.stmt, known: Iterable[str]) -> Iterator[str]:
    """The variables that a statement binds to a container, or to what a function or class of the project makes."""
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
    made = value.func if isinstance(value, ast.Call) else None
    called = made.attr if isinstance(made, ast.Attribute) else made.id if isinstance(made, ast.Name) else ""
    if isinstance(value, _CONTAINERS) or called in _MAKE_CONTAINERS or (made is not None and _root(made) in known):
        yield from _binds(statement)


def _filled(statement: ast.stmt) -> Iterator[str]:
    """The variables that a statement adds something to: ``OPS["relu"] = relu``, ``OPS.register("relu", relu)``."""
    todo: list[Any] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, _DEFINITIONS):
            continue
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Subscript):
                yield _root(target)
        call = node.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
        plain = call is None or all(isinstance(arg, ast.Constant) for arg in _args(call))
        if call is not None and not plain and isinstance(call.func, ast.Attribute):
            yield _root(call.func)
        for name in _BLOCKS:
            todo += getattr(node, name, ())


def _decorators(statement: ast.stmt, *kinds: type[ast.expr]) -> frozenset[str]:
    """The variables that the decorators of a statement begin with: of all, or of those of some kinds."""
    called = (each.func if isinstance(each, ast.Call) else each for each in _decorating(statement))
    return frozenset(_root(each) for each in called if not kinds or isinstance(each, kinds))


def _given(statement: ast.stmt) -> Iterator[str]:
    """The variables that the decorators of a statement are given: ``HEADS`` of ``@register(HEADS, "plain")``."""
    for each in _decorating(statement):
        if isinstance(each, ast.Call):
            yield from (arg.id for arg in each.args if isinstance(arg, ast.Name))


def _decorating(statement: ast.stmt) -> list[ast.expr]:
    """The decorators of a statement. ``LAYERS.register("tanh")(nn.Tanh)`` is one without its function."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        inner = statement.value.func
        return [inner] if isinstance(inner, ast.Call) else []
    return statement.decorator_list if isinstance(statement, _DEFINITIONS) else []


def _root(node: ast.expr) -> str:
    """The variable that an expression begins with: the ``a`` of ``a.b("c")[0]``."""
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _piece(
    statement: ast.stmt,
    part: Unit | Group,
    binds: frozenset[str],
    registers: frozenset[str],
    fills: frozenset[str],
    lines: list[str],
    path: str,
) -> Piece:
    units, definition = list(part.units()), _is_definition(statement)
    mentions = frozenset[str]().union(*(unit.mentions for unit in units))
    first, end = first_line(statement), statement.end_lineno or statement.lineno
    passes, decorators = _passes(statement, part), _decorators(statement)
    piece = Piece(
        [statement], lines, first, end, binds, mentions, definition, passes, decorators, registers, fills, path=path
    )
    piece.functions = {node: _body(node, unit, lines, path) for node, unit in _functions(statement, part)}
    piece.worth = any(unit.worth for unit in units)
    piece.borrowed = all(unit.borrowed for unit in units if unit.worth)
    return piece if piece.worth and not piece.borrowed else _not_data(piece)


def _is_definition(statement: ast.stmt) -> bool:
    """Whether a statement runs nothing but makes a function or a class: ``f = lambda x: ...`` is one too."""
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda):
        return all(isinstance(target, ast.Name) for target in statement.targets)
    return isinstance(statement, _DEFINITIONS)


def _functions(statement: ast.stmt, part: Unit | Group) -> Iterator[tuple[Definition, Unit]]:
    """The functions in a statement whose bodies are read on their own."""
    if isinstance(part, Group):
        for node, inner in part.parts.items():
            yield from _functions(node, inner)
    elif isinstance(statement, _FUNCTIONS):
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
    called = {_root(node.func) for node in nodes if isinstance(node, ast.Call)}
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name)) - called


def _names_tensor(node: ast.AST) -> bool:
    """Whether an annotation says that something is a tensor."""
    said = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    said = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else said
    return said.endswith(("Tensor", "Parameter"))


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
