"""What the text of a file shows of its look-ups in other files: by imports, in modules that are values, by strings."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from . import lazy
from .exports import Import, imported
from .pieces import IMPORTER, callers, heirs, made
from .registering import last, metaclass, registration, root
from .scan import imports

MANY = 40
"""How many variables a file imports that has them for other files."""
_OF_MODULES = frozenset({*dir(builtins), "__file__", "__path__", "__all__"})
"""Names that a module has without an import."""
_ANY_NAME = {"globals": "globals()", "modules": "sys.modules[__name__]"}
"""What may look up any name of a file, by the name that `scan` gives to all of its statements."""
_SCOPES = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
_DOTTED = re.compile(r"[\"']([^\W\d]\w*(?:\.\w+)+(?::\w+)?)[\"']")
"""A string that may be the full name of something: "package.module.Class", or "package.module:function"."""


@dataclass(frozen=True, slots=True)
class Reads:
    """The attributes that a file reads, and the variables whose values may be looked up in by names it doesn't tell."""

    attributes: frozenset[str]
    computed: frozenset[str]


def reads(tree: ast.Module) -> Reads:
    """Return what a file reads. A module that is passed on, or kept, may be looked up in by whoever gets it."""
    attributes, computed, owners = set[str](), set[str](), set[ast.expr]()
    for node in ast.walk(tree):  # parents before their children
        if isinstance(node, ast.Attribute):
            attributes.add(node.attr)
            if node.attr != "__dict__":
                owners.add(node.value)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node not in owners:
            computed.add(node.id)
    return Reads(frozenset(attributes), frozenset(computed))


def looked_up(tree: ast.Module) -> set[str]:
    """Return the variables that a file reads, and that a star import may bring: none that belongs to a function."""
    return _free(tree) - _OF_MODULES


def _free(scope: ast.AST) -> set[str]:
    """The variables that a scope, or one in it, reads from outside of it; of a class and a module, all."""
    read, bound, outer = set[str](), set[str](), set[str]()
    todo = [*ast.iter_child_nodes(scope)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.Global):
            outer.update(node.names)
        if isinstance(node, _SCOPES):
            read |= _free(node)
            todo += _defaults(node)
        else:
            todo += ast.iter_child_nodes(node)
    return read - (bound - outer) if isinstance(scope, _SCOPES) and not isinstance(scope, ast.ClassDef) else read


def _defaults(scope: ast.AST) -> list[ast.AST]:
    """The default values of a function, which are computed outside of it: ``def f(x=x)``."""
    args = scope.args if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) else None
    return [] if args is None else [*args.defaults, *filter(None, args.kw_defaults)]


def any_name(text: str, tree: ast.Module) -> list[str]:
    """Return what stands for all names of a file in it, because it may look up any of them."""
    said = {name: text.count(words) for name, words in _ANY_NAME.items() if words in text}
    for node in ast.walk(tree) if said else ():
        for name in _told(node):
            said[name] -= 1
    return [name for name, times in said.items() if times > 0]


def _told(node: ast.AST) -> Iterator[str]:
    """Yield what of `_ANY_NAME` looks up no name in a node, or one that it tells.

    ``globals()["__file__"]``, ``sys.modules[__name__] = module`` and ``setattr(sys.modules[__name__], name, value)``.
    """
    if isinstance(node, ast.Subscript):
        if isinstance(node.ctx, ast.Store) and ast.unparse(node) == _ANY_NAME["modules"]:
            yield "modules"
        if isinstance(node.slice, ast.Constant) and ast.unparse(node.value) == _ANY_NAME["globals"]:
            yield "globals"
    elif isinstance(node, ast.Call) and last(node.func) == "setattr":
        yield from ("modules" for owner in node.args[:1] if ast.unparse(owner) == _ANY_NAME["modules"])


def tables(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield what definitions of other files may be registered in, each with the name that they do it by.

    These are the variables of a module, its classes and its decorated functions.
    """
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
        elif isinstance(statement, ast.AnnAssign):
            names = [statement.target.id] if isinstance(statement.target, ast.Name) else []
        else:
            if isinstance(statement, ast.ClassDef) or (
                isinstance(statement, ast.FunctionDef) and statement.decorator_list
            ):
                yield statement.name, statement.name
            continue
        for name in names:
            yield name, name
            yield name, callers(name)


@dataclass(frozen=True, slots=True)
class Filling:
    """By which ``key`` other files register something that names of this file may then hold.

    These are ``sure``, and those of its variables that are mentioned in ``nodes``.
    """

    key: str
    nodes: tuple[ast.AST, ...]
    sure: frozenset[str] = frozenset()

    def names(self, variables: frozenset[str]) -> list[str]:
        """Return these names in order; ``variables`` are those of the file."""
        found = {node.id for top in self.nodes for node in ast.walk(top) if isinstance(node, ast.Name)}
        return sorted((found & variables) | self.sure)


def fillings(tree: ast.Module, followed: frozenset[str], asks: bool) -> Iterator[Filling]:
    """Yield what other files may fill by calling functions of a file, decorating with them, or inheriting from classes.

    ``followed`` are the variables that the file imports from files that are read. ``asks``: it, or what it imports,
    asks classes for their subclasses.
    """
    hooks: dict[str, list[ast.AST]] = {}
    known = followed | {statement.name for statement in tree.body if isinstance(statement, ast.ClassDef)}
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            yield Filling(callers(statement.name), (statement,))
        elif isinstance(statement, ast.ClassDef):
            for key, method in registration(statement):
                hooks.setdefault(key, []).append(method)
                yield Filling(key, (method,), frozenset({statement.name}))
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef):
            above = {heirs(name) for base in statement.bases if root(base) in followed and (name := last(base))}
            if name := metaclass(statement, known):
                above |= {statement.name, name, made(name)}
            if asks:
                above.add(statement.name)
            if above:
                yield Filling(heirs(statement.name), (*hooks.get(made(name), ()),), frozenset(above))


def variables(tree: ast.Module) -> Iterator[tuple[str, Import]]:
    """Yield the variables that a file binds to what it imports, ``x = importlib.import_module("a.b")`` included."""
    called = False
    for statement in imports(tree):
        called = called or any(alias.name in ("importlib", IMPORTER) for alias in statement.names)
        yield from imported(statement)
        yield from _whole(statement)
    for module in lazy.modules(tree) if called else ():
        yield IMPORTER, Import(module)
    for each in tree.body:
        found = lazy.import_module(each.value) if isinstance(each, ast.Assign) else None
        if found is not None and isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
            yield each.targets[0].id, Import(*found)


def unmentioned(imports: Sequence[tuple[str, Import]], tree: ast.Module) -> dict[str, list[Import]]:
    """Return the imports of those variables that a file never mentions: it has them for other files.

    Of few imports none is: it takes a look at the whole file to know.
    """
    if len(imports) < MANY:
        return {}
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    found: dict[str, list[Import]] = {}
    for variable, target in imports:
        if variable.isidentifier() and variable not in named and variable != IMPORTER:
            found.setdefault(variable, []).append(target)
    return found


def _whole(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Import]]:
    """``import a.b`` binds ``a``, and runs ``a.b``."""
    for alias in statement.names if isinstance(statement, ast.Import) else ():
        if "." in alias.name and not alias.asname:
            yield alias.name, Import(alias.name)


def strings(text: str) -> Iterator[tuple[str, Import]]:
    """Yield the strings that may be full names of what another file defines, each with the import that gets it."""
    for said in [*dict.fromkeys(_DOTTED.findall(text))][: lazy.MAX_COMPUTED]:
        module, _, name = said.rpartition(":" if ":" in said else ".")
        yield said, Import(module, name)
