"""The names that a module binds at its top level, read from its ``ast``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from . import lazy

Kind = Literal["function", "class", "value"]
MAX_CANDIDATES = 16
"""Of a name that is bound in more branches, the others are left out."""
_ALIAS: tuple[type, ...] = (ast.TypeAlias,) if hasattr(ast, "TypeAlias") else ()
_TRY = (ast.Try, ast.TryStar) if hasattr(ast, "TryStar") else (ast.Try,)


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, class or other value that a module makes itself: the statement on ``line`` of ``path`` binds it."""

    path: str
    name: str
    line: int
    kind: Kind

    def said(self, name_of: Callable[[str], str]) -> str:
        """In words, where files are called by ``name_of`` their paths."""
        return f"{self.kind} {self.name} ({name_of(self.path)}, line {self.line})"


@dataclass(frozen=True, slots=True)
class Import:
    """``from module import name``, or ``import module`` where ``name`` is None; ``module`` may begin with dots."""

    module: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """What a name may be bound to: several candidates where branches bind it, in the order of the text.

    ``order`` is the place of the last binding among all of the module. Not ``sure``: another binding may stay.
    """

    bound: tuple[Definition | Import, ...]
    order: int
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Star:
    """``from module import *``; ``order`` and ``sure`` as of an `Entry`."""

    module: str
    order: int
    sure: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """The value of ``__all__``: ``names``, and those of other modules, ``refs`` being such as ``a.__all__``.

    Not ``exact``: there is more that the text does not tell.
    """

    names: frozenset[str]
    refs: tuple[str, ...]
    exact: bool


@dataclass(frozen=True, slots=True)
class Exports:
    """What a module binds.

    ``typed`` are the names and ``typed_stars`` the star imports under ``if TYPE_CHECKING``, ``lazy`` the names of a
    table that a module ``__getattr__`` reads, ``submodules`` those that a package imports. ``dynamic``: a module
    ``__getattr__`` may give other names a value.
    """

    path: str
    names: Mapping[str, Entry]
    stars: tuple[Star, ...]
    typed: Mapping[str, Entry]
    typed_stars: tuple[Star, ...]
    lazy: Mapping[str, Import]
    shown: Shown | None
    submodules: frozenset[str]
    dynamic: bool


def read(tree: ast.Module, path: str, name: str) -> Exports:
    """Return what the module of this dotted name binds."""
    reader = _Reader(path, name)
    names = reader.block(tree.body)
    found = lazy.read(reader.tables)
    return Exports(
        path,
        names,
        tuple(reader.stars),
        reader.typed,
        tuple(reader.typed_stars),
        {name: Import(*target) for name, target in found.items()},
        reader.shown(),
        frozenset(reader.submodules),
        reader.tables.is_lazy,
    )


def imported(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Import]]:
    """Yield the variables that an import statement binds; a star import binds ``*``."""
    if isinstance(statement, ast.ImportFrom):
        module = "." * statement.level + (statement.module or "")
        for alias in statement.names:
            yield alias.asname or alias.name, Import(module, alias.name)
        return
    for alias in statement.names:
        if alias.asname:
            yield alias.asname, Import(alias.name)
        else:
            top = alias.name.partition(".")[0]
            yield top, Import(top)


class _Reader:
    """Reads statements in order. ``tables`` has what lazy modules are read from."""

    def __init__(self, path: str, name: str) -> None:
        self._path = path
        self._name = name
        self._order = 0
        self._branches = 0
        self._typing = False
        self._all: list[ast.expr] | None = None
        self.stars: list[Star] = []
        self.typed: dict[str, Entry] = {}
        self.typed_stars: list[Star] = []
        self.submodules: set[str] = set()
        self.tables = lazy.Tables()

    def block(self, body: Sequence[ast.stmt]) -> dict[str, Entry]:
        """What statements bind that run one after the other."""
        names: dict[str, Entry] = {}
        for statement in body:
            for name, entry in self._statement(statement).items():
                before = names.get(name)
                names[name] = entry if entry.sure or before is None else _join(before, entry)
            if isinstance(statement, ast.Delete):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        names.pop(target.id, None)
        return names

    def shown(self) -> Shown | None:
        """The value of ``__all__``, None if there is none."""
        if self._all is None:
            return None
        names, refs, exact = lazy.listed(self._all, self.tables)
        return Shown(frozenset(names), tuple(refs), exact)

    def _statement(self, statement: ast.stmt) -> dict[str, Entry]:
        self._order += 1
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            return self._import(statement)
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if statement.name == "__getattr__":
                self.tables.getters.append(statement)
            return self._defined([statement.name], statement, "function")
        if isinstance(statement, ast.ClassDef):
            return self._defined([statement.name], statement, "class")
        if isinstance(statement, ast.If):
            return self._if(statement)
        if isinstance(statement, _TRY):
            return self._try(statement)
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            return self._with(statement)
        if isinstance(statement, (ast.For, ast.AsyncFor, ast.While)):
            bound = [*_targets(statement.target)] if not isinstance(statement, ast.While) else []
            names = self._defined(bound, statement, "value")
            return _merge([names, self._branch(statement.body), self._branch(statement.orelse)], False)
        if isinstance(statement, ast.Match):
            return _merge([self._branch(case.body) for case in statement.cases], False)
        return self._simple(statement)

    def _simple(self, statement: ast.stmt) -> dict[str, Entry]:
        """An assignment, or a call that changes a table or ``__all__``."""
        self.tables.see(statement)
        if isinstance(statement, ast.Assign):
            names = [name for target in statement.targets for name in _targets(target)]
            value: ast.expr | None = statement.value
        elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
            names = [*_targets(statement.target)] if statement.value is not None else []
            value = statement.value
        elif isinstance(statement, _ALIAS):
            return self._defined([*_targets(getattr(statement, "name"))], statement, "value")  # noqa: B009
        else:
            value = lazy.extended(statement, "__all__")
            names = ["__all__"] if value is not None else []
        if value is not None and "__all__" in names:
            fresh = isinstance(statement, (ast.Assign, ast.AnnAssign)) and not self._branches
            self._all = [value] if fresh or self._all is None else [*self._all, value]
        module = lazy.import_module(value) if len(names) == 1 and isinstance(statement, ast.Assign) else None
        if module is not None:
            return self._bound({names[0]: Import(*module)})
        return self._defined(names, statement, "value")

    def _import(self, statement: ast.Import | ast.ImportFrom) -> dict[str, Entry]:
        found = dict(imported(statement))
        whole = isinstance(statement, ast.Import)
        for module in [alias.name for alias in statement.names] if whole else [each.module for each in found.values()]:
            for start in (".", f"{self._name}."):
                if module.startswith(start) and not module.startswith(".."):
                    self.submodules.add(module.removeprefix(start).partition(".")[0])
        if "*" in found:
            stars = self.typed_stars if self._typing else self.stars
            stars.append(Star(found.pop("*").module, self._order, not self._branches))
        return self._bound(found)

    def _if(self, statement: ast.If) -> dict[str, Entry]:
        """The branches of a chain of `elif`, however long it is."""
        if _is_main(statement.test):
            return self._branch(statement.orelse)
        typing = _type_checking(statement.test)
        if typing is not None:
            first, second = (statement.body, statement.orelse) if typing else (statement.orelse, statement.body)
            self._under_typing(first)
            return self.block(second)
        branches = []
        rest: list[ast.stmt] = [statement]
        while len(rest) == 1 and isinstance(rest[0], ast.If) and _type_checking(rest[0].test) is None:
            branches += [self._branch(rest[0].body)] if not _leaves(rest[0].body) else []
            rest = rest[0].orelse
        branches += [self._branch(rest)] if not _leaves(rest) else []
        return _merge(branches, True)

    def _under_typing(self, body: Sequence[ast.stmt]) -> None:
        outer, self._typing = self._typing, True
        for name, entry in self.block(body).items():
            self.typed[name] = _join(self.typed[name], entry) if name in self.typed else entry
        self._typing = outer

    def _try(self, statement: ast.stmt) -> dict[str, Entry]:
        assert isinstance(statement, _TRY)
        branches = [self._branch([*statement.body, *statement.orelse])]
        branches += [self._branch(each.body) for each in statement.handlers if not _leaves(each.body)]
        names = _merge(branches, True)
        return _then(names, self.block(statement.finalbody)) if statement.finalbody else names

    def _with(self, statement: ast.With | ast.AsyncWith) -> dict[str, Entry]:
        targets = [name for item in statement.items if item.optional_vars for name in _targets(item.optional_vars)]
        names = self._defined(targets, statement, "value")
        if any("suppress" in ast.dump(item.context_expr) for item in statement.items):
            return _then(names, _merge([self._branch(statement.body)], False))
        return _then(names, self.block(statement.body))

    def _branch(self, body: Sequence[ast.stmt]) -> dict[str, Entry]:
        self._branches += 1
        names = self.block(body)
        self._branches -= 1
        return names

    def _defined(self, names: Sequence[str], statement: ast.stmt, kind: Kind) -> dict[str, Entry]:
        return self._bound({name: Definition(self._path, name, statement.lineno, kind) for name in names})

    def _bound(self, found: Mapping[str, Definition | Import]) -> dict[str, Entry]:
        return {name: Entry((each,), self._order) for name, each in found.items()}


def _join(first: Entry, second: Entry) -> Entry:
    """Either may be what is bound; the second comes later in the text."""
    bound = tuple(dict.fromkeys(first.bound + second.bound))[:MAX_CANDIDATES]
    return Entry(bound, max(first.order, second.order), first.sure)


def _then(first: dict[str, Entry], second: Mapping[str, Entry]) -> dict[str, Entry]:
    for name, entry in second.items():
        first[name] = entry if entry.sure or name not in first else _join(first[name], entry)
    return first


def _merge(branches: Sequence[Mapping[str, Entry]], complete: bool) -> dict[str, Entry]:
    """What one of several branches binds; ``complete``: one of them runs."""
    names: dict[str, Entry] = {}
    for branch in branches:
        for name, entry in branch.items():
            names[name] = _join(names[name], entry) if name in names else entry
    if len(branches) == 1 and complete:
        return names
    for name, entry in names.items():
        sure = complete and all(name in branch and branch[name].sure for branch in branches)
        names[name] = replace(entry, sure=sure)
    return names


def _targets(target: ast.expr) -> Iterator[str]:
    """The variables that an assignment binds."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _targets(element)
    elif isinstance(target, ast.Starred):
        yield from _targets(target.value)


def _type_checking(test: ast.expr) -> bool | None:
    """Whether a test holds for type checkers; None if it is about something else."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _type_checking(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        return True if any(_type_checking(value) for value in test.values) else None
    name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else ""
    return True if name == "TYPE_CHECKING" else None


def _is_main(test: ast.expr) -> bool:
    """Whether it is ``__name__ == "__main__"``, which no import runs."""
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether statements end by raising an error, so that the module is not imported."""
    return bool(body) and isinstance(body[-1], ast.Raise)
