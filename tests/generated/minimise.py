"""Makes a program shorter while a property of it holds: greedy, statements first, then expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator


def minimise(source: str, holds: Callable[[str], bool], tries: int = 600) -> str:
    """The shortest text found with at most `tries` calls of `holds`."""
    best = ast.unparse(ast.parse(source)) + "\n"
    if not holds(best):
        return source
    left = tries
    changed = True
    while changed and left > 0:
        changed = False
        for edits in (_statement_edits, _expression_edits):
            number = sum(1 for _ in edits(ast.parse(best))) - 1
            while number >= 0 and left > 0:
                text = _edited(best, edits, number)
                if text is not None and text != best:
                    left -= 1
                    if holds(text):
                        best, changed = text, True
                        number = min(number, sum(1 for _ in edits(ast.parse(best))))
                number -= 1
    return best


Edit = Callable[[], None]


def _edited(source: str, edits: Callable[[ast.Module], Iterator[Edit]], number: int) -> str | None:
    tree = ast.parse(source)
    for i, edit in enumerate(edits(tree)):
        if i == number:
            edit()
            try:
                text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
                ast.parse(text)
            except (SyntaxError, ValueError):
                return None
            return text
    return None


def _statement_edits(tree: ast.Module) -> Iterator[Edit]:
    """Delete a statement, or put a compound statement's body in its place."""
    for node in list(ast.walk(tree)):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if not isinstance(body, list):
                continue
            for i, statement in enumerate(body):
                if isinstance(node, ast.While) and i == len(body) - 1:
                    continue  # it counts; without it the loop is endless
                if any(isinstance(part, ast.Raise) for part in ast.walk(statement)):
                    continue  # without it the handlers are never reached
                if isinstance(statement, ast.If | ast.For | ast.While | ast.With):
                    yield _replace(body, i, statement.body)
                    if isinstance(statement, ast.If) and statement.orelse:
                        yield _replace(body, i, statement.orelse)
                if len(body) > 1 or name == "orelse":
                    yield _replace(body, i, [])


def _replace(body: list[ast.stmt], i: int, by: list[ast.stmt]) -> Edit:
    def edit() -> None:
        body[i : i + 1] = by

    return edit


def _expression_edits(tree: ast.Module) -> Iterator[Edit]:
    """Put an operand in the place of an operation, or drop an element of a list."""
    for node in list(ast.walk(tree)):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                for part in _parts(value):
                    yield _set(node, name, part)
            elif isinstance(value, list) and name != "targets":
                for i, item in enumerate(value):
                    if isinstance(item, ast.expr):
                        for part in _parts(item):
                            yield _put(value, i, part)
                        names = any(isinstance(part, ast.Name) for part in ast.walk(item))
                        if isinstance(node, ast.List | ast.Tuple) and len(value) > 1 and names:
                            yield _drop(value, i)


def _parts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Call):
        receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        return [*receiver, *node.args]
    if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Load):
        return [node.value]
    return []


def _set(node: ast.AST, name: str, value: ast.expr) -> Edit:
    def edit() -> None:
        setattr(node, name, value)

    return edit


def _put(values: list[ast.expr], i: int, value: ast.expr) -> Edit:
    def edit() -> None:
        values[i] = value

    return edit


def _drop(values: list[ast.expr], i: int) -> Edit:
    def edit() -> None:
        del values[i]

    return edit
