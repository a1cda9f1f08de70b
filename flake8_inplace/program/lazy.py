"""Lazy modules: tables of names that a module ``__getattr__`` imports when it is asked, and other lists of names.

transformers and diffusers fill ``_import_structure = {"models.bert": ["BertModel"]}`` and hand it to ``_LazyModule``.
Others look a name up in a dictionary and call ``importlib.import_module`` with what they find (PEP 562).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

Target = tuple[str, str | None]
"""A module, and the name in it or None for the module itself."""
_STRUCTURE = "_import_structure"
_HERE = ("__name__", "__package__")
_MODULE = re.compile(r"\.*[^\W\d]\w*(?:\.\w+)*(?::\w+)?$")
MAX_COMPUTED = 64
"""The most strings of a file that are tried as names of modules."""
_COPIES = frozenset({"list", "tuple", "set", "sorted", "frozenset"})


@dataclass(slots=True)
class Tables:
    """The values that a module gives its variables, and what it does with them.

    ``updates`` are the entries that are added to a dictionary later, with None for the key where it is not told.
    ``getters`` are the functions named ``__getattr__``, ``calls`` those that make a lazy module.
    """

    values: dict[str, list[ast.expr]] = field(default_factory=dict)
    updates: dict[str, list[tuple[ast.expr | None, ast.expr]]] = field(default_factory=dict)
    getters: list[ast.FunctionDef | ast.AsyncFunctionDef] = field(default_factory=list)
    calls: list[ast.Call] = field(default_factory=list)

    @property
    def is_lazy(self) -> bool:
        return bool(self.getters or self.calls)

    def see(self, statement: ast.stmt) -> None:
        """Note what a simple statement at the top level does."""
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            value = statement.value
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    self.values.setdefault(target.id, []).append(value)
                elif isinstance(target, ast.Subscript):
                    self._update(target, value)
            if isinstance(value, ast.Call) and _makes_lazy(value):
                self.calls.append(value)
        elif isinstance(statement, ast.AugAssign):
            if isinstance(statement.target, ast.Subscript):
                self._update(statement.target, statement.value)
            elif isinstance(statement.target, ast.Name):
                self.values.setdefault(statement.target.id, []).append(statement.value)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            if not isinstance(call.func, ast.Attribute) or not call.args:
                return
            if isinstance(call.func.value, ast.Subscript) and call.func.attr in ("append", "extend"):
                self._update(call.func.value, call.args[0])
            elif isinstance(call.func.value, ast.Name) and call.func.attr == "update":
                self.values.setdefault(call.func.value.id, []).append(call.args[0])

    def _update(self, target: ast.Subscript, value: ast.expr) -> None:
        if isinstance(target.value, ast.Name):
            self.updates.setdefault(target.value.id, []).append((target.slice, value))

    def entries(self, variable: str) -> Iterator[tuple[str, ast.expr]]:
        """Yield the keys of a dictionary that are literal, each with what stands for its value."""
        pending: list[ast.expr] = [ast.Name(variable)]
        seen = set()
        while pending:
            node = pending.pop(0)
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                pending += self.values.get(node.id, ())
                yield from _literal(self.updates.get(node.id, ()))
            elif isinstance(node, ast.Dict):
                pending += (value for key, value in zip(node.keys, node.values, strict=True) if key is None)
                yield from _literal(zip(node.keys, node.values, strict=True))


def read(tables: Tables) -> dict[str, Target]:
    """Return the names that a module imports when it is asked for them."""
    found: dict[str, Target] = {}
    for call in tables.calls:
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        variables = [arg.id for arg in given if isinstance(arg, ast.Name)]
        inner = [pair for arg in given if isinstance(arg, ast.Dict) for pair in _literal(_pairs(arg))]
        inner += [pair for name in dict.fromkeys([*variables, _STRUCTURE]) for pair in tables.entries(name)]
        for module, names in inner:
            for name in _names(names):
                found.setdefault(name, (_relative(module, True), name))
    for getter in tables.getters:
        found.update(_getter(getter, tables))
    return found


def listed(nodes: Sequence[ast.expr], tables: Tables) -> tuple[list[str], list[str], bool]:
    """Return the strings of a list such as ``__all__``, the names of other lists in it, and whether that is all."""
    names, refs, exact = [], [], True
    pending = list(nodes)
    seen = set()
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.append(node.value)
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            pending += node.elts
        elif isinstance(node, ast.Starred):
            pending.append(node.value)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            pending += (node.left, node.right)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _COPIES and node.args:
            pending.append(node.args[0])
        elif isinstance(node, ast.Name) and node.id in tables.values and node.id != "__all__":
            pending += tables.values[node.id] if node.id not in seen else ()
            seen.add(node.id)
        elif isinstance(node, ast.Name) and node.id == "__all__":
            pass  # __all__ = __all__ + [...]: what it was before is listed as well
        elif dotted := _dotted(node):
            refs.append(dotted)
        else:
            exact = False
    return names, refs, exact


def extended(statement: ast.stmt, variable: str) -> ast.expr | None:
    """What ``variable.extend(value)`` or ``variable.append(value)`` adds to a list; None for other statements."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
        return None
    is_it = isinstance(call.func.value, ast.Name) and call.func.value.id == variable
    return call.args[0] if is_it and call.func.attr in ("extend", "append") else None


def import_module(node: ast.expr | None) -> Target | None:
    """What ``importlib.import_module("a.b")``, or a name in it, is imported from."""
    if isinstance(node, ast.Attribute):
        inner = import_module(node.value)
        return (inner[0], node.attr) if inner is not None and inner[1] is None else None
    if not isinstance(node, ast.Call) or _last(node.func) != "import_module" or not node.args:
        return None
    module, given = node.args[0], [*node.args[1:], *(keyword.value for keyword in node.keywords)]
    if not isinstance(module, ast.Constant) or not isinstance(module.value, str):
        return None
    package = given[0].value if given and isinstance(given[0], ast.Constant) else None
    return absolute(module.value, package) if isinstance(package, str) else module.value, None


def absolute(module: str, package: str) -> str:
    """Return the full name of a module that is relative to a package if it begins with dots."""
    name = module.lstrip(".")
    level, parts = len(module) - len(name), package.split(".")
    return ".".join([*parts[: len(parts) - level + 1], name]) if level else module


def modules(tree: ast.Module) -> Iterator[str]:
    """Yield the modules that calls of ``import_module`` may import.

    A name that is put together ends with a string of the file: ``import_module(f"{__name__}.{name}")`` for one of a
    table. ``"module:attribute"`` names a module too, as an entry point does.
    """
    nodes = list(ast.walk(tree))
    calls = [node for node in nodes if isinstance(node, ast.Call) and _last(node.func) == "import_module" and node.args]
    known = [import_module(call) for call in calls]
    yield from (target[0] for target in known if target is not None)
    starts = {_start(call.args[0]) for call, target in zip(calls, known, strict=True) if target is None}
    if starts:
        texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
        yield from (start + name for name in module_names(texts) for start in sorted(starts))


def module_names(texts: Iterable[str]) -> list[str]:
    """Return the modules that strings may name, each once: ``"package.module"``, or ``"package.module:attribute"``."""
    names = (text.partition(":")[0] for text in texts if _MODULE.match(text))
    return [*dict.fromkeys(names)][:MAX_COMPUTED]


def _start(node: ast.expr) -> str:
    """What the name of a module begins with: a dot where it is relative, nothing where that is not told."""
    first = _first(node)
    if isinstance(first, ast.Name) and first.id in _HERE:
        return "."
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def _getter(function: ast.FunctionDef | ast.AsyncFunctionDef, tables: Tables) -> dict[str, Target]:
    """What a module ``__getattr__`` imports: by the tables that it mentions, or by import statements of its own."""
    found: dict[str, Target] = {}
    mentioned = []
    relative = takes = False
    for node in ast.walk(function):
        if isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            found.update((alias.asname or alias.name, (module, alias.name)) for alias in node.names)
        elif isinstance(node, ast.Name):
            mentioned.append(node.id)
        elif isinstance(node, ast.Call):
            takes |= _last(node.func) == "getattr"
            relative |= _last(node.func) == "import_module" and bool(node.args) and _begins_here(node.args[0])
    for name in list(mentioned):  # a table may be made of another one
        made = [node for node in tables.values.get(name, ()) if not isinstance(node, ast.Dict)]
        mentioned += (inner.id for node in made for inner in ast.walk(node) if isinstance(inner, ast.Name))
    for variable in dict.fromkeys(mentioned):
        for key, value in tables.entries(variable):
            for name, target in _entry(key, value, relative, takes):
                found.setdefault(name, target)
    return found


def _entry(key: str, value: ast.expr, relative: bool, takes: bool) -> Iterator[tuple[str, Target]]:
    """The names that an entry of a table of lazy imports stands for, each with what is imported for it.

    ``{name: module}``, ``{name: (module, name there)}`` or ``{module: names}``.
    """
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield key, (_relative(value.value, relative), key if takes else None)
        return
    names = list(_names(value))
    if isinstance(value, ast.Tuple) and len(names) == 2 and (names[1] == key or "." in names[0]):
        yield key, (_relative(names[0], relative), names[1])
    else:
        yield from ((name, (_relative(key, True), name)) for name in names)


def _relative(module: str, relative: bool) -> str:
    return f".{module}" if relative and not module.startswith(".") else module


def _begins_here(node: ast.expr) -> bool:
    """Whether the name of a module begins with a dot or with ``__name__``."""
    return _start(node).startswith(".")


def _first(node: ast.expr) -> ast.expr:
    """The first part of a string that is put together."""
    while isinstance(node, ast.BinOp):
        node = node.left
    if isinstance(node, ast.JoinedStr) and node.values:
        first = node.values[0]
        return first.value if isinstance(first, ast.FormattedValue) else first
    return node


def _makes_lazy(call: ast.Call) -> bool:
    """Whether it is ``_LazyModule(...)``, or ``attach(...)`` of the package lazy_loader."""
    name = _last(call.func)
    return name.endswith("LazyModule") or name == "attach"


def _pairs(node: ast.Dict) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    yield from zip(node.keys, node.values, strict=True)


def _literal(pairs: Iterable[tuple[ast.expr | None, ast.expr]]) -> Iterator[tuple[str, ast.expr]]:
    for key, value in pairs:
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, value


def _names(node: ast.expr) -> Iterator[str]:
    elements = node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else [node]
    for element in elements:
        if isinstance(element, ast.Constant) and isinstance(element.value, str):
            yield element.value


def _last(node: ast.expr) -> str:
    """The last part of the name of what is called."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _dotted(node: ast.expr) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""
