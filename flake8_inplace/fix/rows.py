"""A table that is filled row by row, written as a list of rows that is stacked behind the loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from ..finding import Edit, Fix, Place
from .facts import Facts
from .scope import scope_around
from .syntax import Module, dotted, last_name, range_from_one


def rows(module: Module, part: cst.Subscript, statement: cst.Assign, facts: Facts) -> Iterator[Fix]:
    """A table filled row by row, as a list that is stacked behind the loop: a copy in each round costs more.

    Only where the shape is plain: ``t = zeros(n, ...)``, ``t[0] = first``, ``for i in range(1, n): t[i] = ...``
    in one function, with the rows before read as ``t[i - 1]``, and nothing else done to the table until the end.
    """
    loop, table = module.around(statement, cst.For), part.value
    if loop is None or not isinstance(table, cst.Name) or not isinstance(loop.target, cst.Name):
        return
    name, row, count = table.value, loop.target.value, range_from_one(loop.iter)
    block = module.parents[loop]
    if (
        count is None
        or module.parents[module.parents[statement]] is not loop.body
        or module.code(part) != f"{name}[{row}]"
    ):
        return
    if not isinstance(block, cst.IndentedBlock) or block.body[-1] is loop:
        return
    before = block.body[: block.body.index(loop)]
    built, first = _assigned(module, before, name), _assigned(module, before, f"{name}[0]")
    if (
        built is None
        or first is None
        or not _sized(module, built.value, module.code(count))
        or _is_number(module, first, facts)
    ):
        return
    ours = (built.targets[0], first.targets[0].target, part)
    scope = scope_around(module, statement)
    others = [use for use in scope.names[name] if module.parents[use] not in ours]
    reads = [use for use in others if module.start(use) < module.end(loop)]
    if any(module.code(module.parents[use]) != f"{name}[{row} - 1]" or _is_written(module, use) for use in reads):
        return  # read as a whole or in another row while it is filled, or written twice
    stacked, after = scope.unused("rows"), module.start(block.body[len(before) + 1])
    edits = [
        Edit(Place(module.start(built).line, 0), Place(module.end(built).line + 1, 0), ""),
        module.replaced(first, f"{stacked} = [{module.code(first.value)}]"),
        Edit(module.start(statement), module.start(statement.value), f"{stacked}.append("),
        *(module.replaced(use, stacked) for use in reads),
        Edit(module.end(statement), module.end(statement), ")"),
        Edit(after, after, f"{name} = torch.stack({stacked})\n{' ' * after.column}"),
    ]
    yield Fix(f"collect the rows in a list and stack them: `{stacked}`", False, tuple(edits))


def _is_number(module: Module, first: cst.Assign, facts: Facts) -> bool:
    """Whether a row is given a number, which can't be stacked."""
    row = first.targets[0].target
    fact = facts.writes.get(module.start(row.lbracket)) if isinstance(row, cst.Subscript) else None
    return fact is not None and fact.numbers


def _is_written(module: Module, use: cst.Name) -> bool:
    """Whether ``use`` in ``use[i]`` is what a statement assigns to."""
    return isinstance(module.parents[module.parents[use]], (cst.AssignTarget, cst.AugAssign))


def _assigned(module: Module, lines: Sequence[cst.CSTNode], target: str) -> cst.Assign | None:
    """The only statement among some lines that assigns to a target."""
    found = [
        small
        for line in lines
        if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
        for small in line.body
        if isinstance(small, cst.Assign) and len(small.targets) == 1
        if module.code(small.targets[0].target) == target
    ]
    return found[0] if len(found) == 1 else None


def _sized(module: Module, value: cst.BaseExpression, count: str) -> bool:
    """Whether an expression makes a table of ``count`` rows."""
    if not isinstance(value, cst.Call) or not value.args or not dotted(value.func).startswith("torch."):
        return False
    first = module.code(value.args[0].value)
    if last_name(value.func) in ("zeros_like", "empty_like", "ones_like"):
        return count in (f"len({first})", f"{first}.shape[0]", f"{first}.size(0)")
    return last_name(value.func) in ("zeros", "empty", "ones") and first == count
