"""libcst's nodes, made without a parser, and what a node is made of."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Protocol, TypeVar

import libcst as cst

_Setter = Callable[[Any, Any], None]
_Node = TypeVar("_Node", bound=cst.CSTNode)


class Builder(Protocol):
    """What makes the nodes of a tree: see `tree.Tree`. ``origins`` has the ``ast`` node that each was made of."""

    origins: dict[cst.CSTNode, ast.AST]

    def make(self, node: ast.AST) -> Any: ...
    def all(self, nodes: Iterable[ast.AST]) -> tuple[Any, ...]: ...
    def maybe(self, node: ast.AST | None) -> Any: ...
    def block(self, body: Sequence[ast.stmt]) -> cst.IndentedBlock: ...
    def token(self, kind: type[_Node], before: ast.AST) -> _Node: ...
    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, **fields: Any) -> cst.FunctionDef: ...


def parts(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What a node is made of, as its ``children``, which libcst finds by making the node anew."""
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, tuple):
            yield from value
        elif value is not None and not isinstance(value, (str, cst.MaybeSentinel)):
            yield value


def build(kind: type[_Node], **fields: Any) -> _Node:
    """A node, made without the checks of libcst: what comes from an ``ast`` has passed those of Python."""
    setters, others = _slots(kind)
    made = object.__new__(kind)
    for setter, value in others:
        setter(made, value)
    for name, value in fields.items():
        setters[name](made, value)
    return made


def word(text: str) -> cst.Name:
    return build(cst.Name, value=text)


@cache
def _slots(kind: type[cst.CSTNode]) -> tuple[dict[str, _Setter], list[tuple[_Setter, Any]]]:
    """What sets the fields of a node, which is frozen, and those that have a default, with the default."""
    fields = dataclasses.fields(kind)
    setters = {field.name: getattr(kind, field.name).__set__ for field in fields}
    defaults = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    return setters, [(setters[name], value) for name, value in (defaults | _spaces(kind)).items()]


@cache
def _spaces(kind: type[cst.CSTNode]) -> dict[str, Any]:
    """What libcst would make anew for each node of a kind, though it says nothing: one is enough for all of them."""
    fields = dataclasses.fields(kind)
    return {field.name: field.default_factory() for field in fields if field.default_factory is not dataclasses.MISSING}


_SILENT = frozenset({"lpar", "rpar", "lbracket", "rbracket", "comma", "dot", "equal", "semicolon"})


@cache
def _fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    silent = _SILENT.union(_spaces(kind))
    return tuple(field.name for field in dataclasses.fields(kind) if field.name not in silent)


def has(node: cst.CSTNode, *kinds: type[cst.CSTNode]) -> bool:
    """Return whether a body contains such nodes, outside of nested functions."""
    if isinstance(node, (cst.FunctionDef, cst.Lambda)):
        return False
    return isinstance(node, kinds) or any(has(part, *kinds) for part in parts(node))
