"""libcst's tree of a program, made from the ``ast`` that flake8 has parsed already.

It is the tree that libcst's own parser makes of the same text, without comments, spaces and parentheses. Nothing is
parsed twice, and no grammar is needed but that of the running Python.

On hot paths the analysis asks ``type(node) is cst.Name``: libcst's classes are abstract, and ``isinstance`` takes ten
times as long to say no.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import libcst as cst

from ..finding import Place
from .makers import MAKERS
from .nodes import build

_Node = TypeVar("_Node", bound=cst.CSTNode)


class Tree:
    """Nodes of libcst, and where in ``lines``, those of the file, they stand.

    Of the functions in ``apart``, which hold something for each, only the heads are made; ``heads`` has what they hold.
    """

    def __init__(self, lines: Sequence[str], apart: Mapping[Any, Any] | None = None) -> None:
        self.heads: dict[cst.FunctionDef, Any] = {}
        self._lines = lines
        self._apart = apart or {}
        self.origins: dict[cst.CSTNode, ast.AST] = {}
        self._tokens: dict[cst.CSTNode, ast.AST] = {}

    def make(self, node: ast.AST) -> Any:
        """The node of libcst for one of ``ast``. Raises SyntaxError if there is none."""
        maker = MAKERS.get(type(node))
        if maker is None:
            raise SyntaxError(f"{type(node).__name__} is not known")
        made = maker(self, node)
        self.origins[made] = node
        return made

    def all(self, nodes: Iterable[ast.AST]) -> tuple[Any, ...]:
        """The nodes of libcst for several."""
        return tuple([self.make(node) for node in nodes])

    def maybe(self, node: ast.AST | None) -> Any:
        return None if node is None else self.make(node)

    def block(self, body: Sequence[ast.stmt]) -> cst.IndentedBlock:
        """The body of a compound statement, without docstrings."""
        return build(cst.IndentedBlock, body=self.all(n for n in body if not _is_constant(n)))

    def token(self, kind: type[_Node], before: ast.AST) -> _Node:
        """The first token after an expression."""
        made = build(kind)
        self._tokens[made] = before
        return made

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, **fields: Any) -> cst.FunctionDef:
        """A function, or its head."""
        apart = node in self._apart
        body = build(cst.IndentedBlock, body=()) if apart else self.block(node.body)
        made = build(cst.FunctionDef, body=body, **fields)
        if apart:
            self.heads[made] = self._apart[node]
        return made

    def place(self, node: cst.CSTNode) -> Place:
        """Where a node stands in the file."""
        if node in self._tokens:
            return self._after(self._tokens[node])
        origin: Any = self.origins[node]
        if isinstance(node, cst.Name) and type(origin) is ast.Attribute:  # the name after the dot
            return self._place(origin.end_lineno or 0, (origin.end_col_offset or 0) - len(origin.attr.encode()))
        return self._place(origin.lineno, origin.col_offset)

    def text(self, node: cst.CSTNode) -> str:
        """What stands there, on one line."""
        if node in self._tokens:
            return cst.Module(()).code_for_node(node).strip()
        origin: Any = self.origins[node]
        if origin.lineno != origin.end_lineno:
            return ast.unparse(origin)
        text: bytes = self._lines[origin.lineno - 1].encode()[origin.col_offset : origin.end_col_offset]
        return text.decode()

    def _place(self, line: int, column: int) -> Place:
        return Place(line, len(self._lines[line - 1].encode()[:column].decode()))

    def _after(self, before: Any) -> Place:
        line, column = before.end_lineno, before.end_col_offset
        while True:
            rest = self._lines[line - 1].encode()[column:].decode().partition("#")[0]
            said = rest.lstrip(" \t\f)\\\n")
            if said:
                return Place(line, self._place(line, column).column + len(rest) - len(said))
            line, column = line + 1, 0


def expression(text: str) -> cst.BaseExpression:
    """The tree of an expression on its own. Raises SyntaxError, and ValueError for what is no text of a program."""
    found: cst.BaseExpression = Tree(text.split("\n")).make(ast.parse(text, mode="eval").body)
    return found


def _is_constant(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
