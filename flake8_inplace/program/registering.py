"""Which statements of a file may add something to a table, a registry or a base class, judged from the ``ast``.

The keys are names: that of the table, or those that `heirs`, `callers` and `made` give for what fills it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .pieces import INIT_SUBCLASS, METACLASS, callers, heirs, made
from .units import Group, Unit

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")
"""Fields that hold statements, or what holds them."""
_HOOKS = {INIT_SUBCLASS: (heirs,), "__new__": (made,), "__init__": (made, callers), "__call__": (callers,)}
"""Methods that may fill a table, with the names by which that registers which they put there."""
_CONTAINERS = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
_MAKE_CONTAINERS = frozenset({"dict", "list", "set", "OrderedDict", "defaultdict", "deque"})


class Registered:
    """What the statements of a file register by: ``keys`` of each, and the tables that each definition ``fills``.

    ``fills`` pairs a table with the key that those register by which the definition puts there. ``asks``: the file
    asks classes for their subclasses.
    """

    def __init__(
        self,
        body: list[ast.stmt],
        parts: list[Unit | Group],
        names: list[frozenset[str]],
        followed: frozenset[str],
        asks: bool,
    ) -> None:
        functions = frozenset(statement.name for statement in body if isinstance(statement, FUNCTIONS))
        classes = frozenset(statement.name for statement in body if isinstance(statement, DEFINITIONS)) - functions
        known = classes | functions | followed
        tables = frozenset(name for statement in body for name in _table(statement, known))
        self.fills = [frozenset(_fills(*each, tables)) for each in zip(body, parts, strict=True)]
        self._by_class = list(_by_class(body, classes | followed, self.fills))
        plain = _registers(body, parts, names, (functions, classes, followed), tables)
        self.keys = [found | of_class for found, of_class in zip(plain, self._by_class, strict=True)]
        self._heard = self._hear(parts, asks)

    def names(self, index: int) -> frozenset[str]:
        """Return all names that a statement can be come to by, beside those that it binds."""
        keys = self.keys[index]
        return keys.union(*(self._heard.get(key, ()) for key in keys))

    def _hear(self, parts: list[Unit | Group], asks: bool) -> dict[str, frozenset[str]]:
        """By what the heirs of a class register by: the other names that they can be come to by.

        These are the class, if it or one above it is told of its heirs or asked for them, and what it registers by.
        """
        found: dict[str, frozenset[str]] = {}
        for part, fills, keys in zip(parts, self.fills, self._by_class, strict=True):
            if not isinstance(part, Group):
                continue
            own = heirs(part.name)
            above = frozenset[str]().union(*(found.get(heirs(base), ()) for base in part.bases))
            told = any(method.name == INIT_SUBCLASS for method in part.methods)
            told = told or any(key.startswith(METACLASS) for key in keys)
            filled = {table for table, key in fills if key == own}
            found[own] = above | keys | filled | ({part.name} if told or asks or above else set())
        return found


def registration(statement: ast.ClassDef) -> Iterator[tuple[str, ast.stmt]]:
    """Yield the methods of a class that may register something, each with the name by which that does so."""
    for part in statement.body:
        for key in _HOOKS.get(part.name, ()) if isinstance(part, FUNCTIONS) else ():
            yield key(statement.name), part


def metaclass(statement: ast.stmt, known: Iterable[str] | None = None) -> str:
    """Return the name of a class's metaclass: if ``known`` is given, one of these or of a module among them."""
    for keyword in statement.keywords if isinstance(statement, ast.ClassDef) else ():
        if keyword.arg == "metaclass" and (known is None or root(keyword.value) in known):
            return last(keyword.value)
    return ""


def _fills(statement: ast.stmt, part: Unit | Group, tables: frozenset[str]) -> Iterator[tuple[str, str]]:
    if isinstance(statement, FUNCTIONS) and isinstance(part, Unit):
        yield from ((table, callers(statement.name)) for table in part.mentions & tables)
    elif isinstance(part, Group):
        for method in part.methods:
            for key in _HOOKS.get(method.name, ()):
                yield from ((table, key(part.name)) for table in method.mentions & tables)


def _by_class(
    body: list[ast.stmt], known: frozenset[str], fills: list[frozenset[tuple[str, str]]]
) -> Iterator[frozenset[str]]:
    """For each statement what a class registers by through its bases and its metaclass."""
    filled: dict[str, set[str]] = {}
    for each in fills:
        for table, key in each:
            filled.setdefault(key, set()).add(table)
    own = {statement.name for statement in body if isinstance(statement, ast.ClassDef)}
    for statement in body:
        found = {heirs(name) for name in _bases(statement, known)}
        if name := metaclass(statement, known):
            found |= {made(name)} | filled.get(made(name), set()) | ({name} & own)
        yield frozenset(found)


def _registers(
    body: list[ast.stmt],
    parts: list[Unit | Group],
    names: list[frozenset[str]],
    defined: tuple[frozenset[str], frozenset[str], frozenset[str]],
    tables: frozenset[str],
) -> Iterator[frozenset[str]]:
    """For each statement the names whose values it may add something to: tables and registries.

    A definition adds itself to the variables of the file that its decorators are, are given, or mention in what they
    do. So it does to functions, classes, and names of other files, that the decorators look something up in,
    ``@f.register``, or are given, ``@register(HEADS)``.
    """
    functions, classes, followed = defined
    units: dict[str, list[Unit]] = {}
    variables: set[str] = set()
    for statement, part, bound in zip(body, parts, names, strict=True):
        for name in bound:
            units.setdefault(name, []).extend(part.units())
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            variables |= bound
    others, bases, callees = functions | followed, classes | followed, classes | functions | followed
    for statement in body:
        found = {name for name in _filled(statement) if name in tables or name in bases}
        roots, called = decorators(statement).intersection(units), {*_called(statement, callees)}
        if roots:
            mentioned = (unit.mentions for root in roots for unit in units[root])
            looked_up, given = decorators(statement, ast.Attribute), frozenset(_given(statement))
            found |= variables & roots.union(given, *mentioned)
            found |= (others & (looked_up | given)) | (classes & looked_up)
            called |= roots - looked_up
        elif called:
            mentioned = (unit.mentions for name in called for unit in units.get(name, ()))
            found |= tables & frozenset[str]().union(*mentioned)
        found |= {callers(name) for name in called if name in followed}
        yield frozenset(found)


def _called(statement: ast.stmt, known: frozenset[str]) -> Iterator[str]:
    """The function that a statement calls with one of these definitions: ``register("max", max_pool)``."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and any(root(arg) in known for arg in args(call)):
        yield call.func.id


def args(call: ast.Call) -> list[ast.expr]:
    """Return all arguments of a call."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _bases(statement: ast.stmt, names: frozenset[str]) -> Iterator[str]:
    """The names of the base classes of a class that these names of a file, or modules among them, bring."""
    for base in statement.bases if isinstance(statement, ast.ClassDef) else ():
        if root(base) in names:
            yield base.attr if isinstance(base, ast.Attribute) else root(base)


def _table(statement: ast.stmt, known: Iterable[str]) -> Iterator[str]:
    """The variables that a statement binds to a container, or to what a function or class of the project makes."""
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
    maker = value.func if isinstance(value, ast.Call) else None
    called = last(maker) if maker is not None else ""
    if isinstance(value, _CONTAINERS) or called in _MAKE_CONTAINERS or (maker is not None and root(maker) in known):
        yield from binds(statement)


def _filled(statement: ast.stmt) -> Iterator[str]:
    """The variables that a statement adds something to: ``OPS["relu"] = relu``, ``OPS.register("relu", relu)``."""
    todo: list[Any] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, DEFINITIONS):
            continue
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Subscript):
                yield root(target)
        call = node.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
        plain = call is None or all(isinstance(arg, ast.Constant) for arg in args(call))
        if call is not None and not plain and isinstance(call.func, ast.Attribute):
            yield root(call.func)
        for name in BLOCKS:
            todo += getattr(node, name, ())


def decorators(statement: ast.stmt, *kinds: type[ast.expr]) -> frozenset[str]:
    """Return the variables that the decorators of a statement begin with: of all, or of those of some kinds."""
    called = (each.func if isinstance(each, ast.Call) else each for each in _decorating(statement))
    return frozenset(root(each) for each in called if not kinds or isinstance(each, kinds))


def _given(statement: ast.stmt) -> Iterator[str]:
    """The variables that the decorators of a statement are given: ``HEADS`` of ``@register(HEADS, "plain")``."""
    for each in _decorating(statement):
        if isinstance(each, ast.Call):
            yield from (arg.id for arg in each.args if isinstance(arg, ast.Name))


def _decorating(statement: ast.stmt) -> Sequence[ast.expr]:
    """The decorators of a statement. ``LAYERS.register("tanh")(nn.Tanh)`` is one without its function."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        inner = statement.value.func
        return [inner] if isinstance(inner, ast.Call) else []
    return statement.decorator_list if isinstance(statement, DEFINITIONS) else []


def root(node: ast.expr) -> str:
    """Return the variable that an expression begins with: the ``a`` of ``a.b("c")[0]``."""
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def last(node: ast.expr) -> str:
    """Return the last part of a name: the ``b`` of ``a.b``."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def binds(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds."""
    if isinstance(statement, DEFINITIONS):
        yield statement.name
        return
    for node in _outside_definitions(statement):
        if isinstance(node, DEFINITIONS):
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
        if not isinstance(node, DEFINITIONS):
            todo.extend(ast.iter_child_nodes(node))
