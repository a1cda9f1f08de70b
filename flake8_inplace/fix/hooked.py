"""A forward hook that overwrites the output of a module: it returns a new one, which the module then gives instead."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..finding import Edit, Fix
from .forms import Form
from .statements import chain, is_statement, line_above, out_of_place_links, writing_statements
from .syntax import Module, last_name, root_of, walk


def hooked(form: Form) -> Iterator[Fix]:
    """Return what was computed, if the write ends the hook; or else write to a copy, and return that at the end."""
    module = form.module
    for statement, target in writing_statements(module, form.finding.place):
        root, function = root_of(target), module.around(statement, cst.FunctionDef)
        if not isinstance(root, cst.Name) or function is None or not _is_hook(module, function, root.value):
            continue
        assert isinstance(function.body, cst.IndentedBlock)
        line = module.parents[statement]
        if line not in function.body.body:
            continue
        start = module.start(statement)
        if line is function.body.body[-1] and target is root:
            yield from _returned(module, statement, root)
        copy = line_above(module, statement, f"{root.value} = {root.value}.clone()")
        end = module.end(function.body.body[-1])
        back = Edit(end, end, f"\n{' ' * module.start(function.body.body[0]).column}return {root.value}")
        yield Fix(f"write to a copy, and return it: `return {root.value}`", False, (Edit(start, start, copy), back))


def _returned(module: Module, statement: cst.BaseSmallStatement, root: cst.Name) -> Iterator[Fix]:
    """``return output * 2`` for ``output *= 2``, ``return output.mul(2)`` for ``output.mul_(2)``."""
    title = "return a new tensor from the hook"
    if isinstance(statement, cst.AugAssign):
        operator = module.code(statement.operator).strip().removesuffix("=")
        value = module.code(statement.value)
        if isinstance(statement.value, (cst.BinaryOperation, cst.UnaryOperation)) and not statement.value.lpar:
            value = f"({value})"
        yield Fix(title, False, (module.replaced(statement, f"return {root.value} {operator} {value}"),))
    elif isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Call):
        links, base = chain(module, statement.value)
        edits, start = out_of_place_links(module, links), module.start(statement)
        if edits and base is root and is_statement(links[-1], statement):
            yield Fix(title, False, (Edit(start, start, "return "), *edits))


def _is_hook(module: Module, function: cst.FunctionDef, output: str) -> bool:
    """Whether a function is only ever registered as a forward hook, is given ``output``, and hands nothing back."""
    name = function.name.value
    if not function.params.params or function.params.params[-1].name.value != output:
        return False
    if not isinstance(function.body, cst.IndentedBlock) or any(map(_ends, walk(function.body))):
        return False
    uses = [node for node in module.of(cst.Name) if node.value == name and node is not function.name]
    return bool(uses) and all(_is_registered(module, use) for use in uses)


def _ends(node: cst.CSTNode) -> bool:
    return isinstance(node, (cst.Return, cst.Yield))


def _is_registered(module: Module, use: cst.Name) -> bool:
    """``layer.register_forward_hook(hook)``, ``layer.register_forward_hook(self.hook)``."""
    given: cst.CSTNode = use
    if isinstance(parent := module.parents[use], cst.Attribute) and parent.attr is use:
        given = parent
    argument = module.parents[given]
    call = module.parents[argument] if isinstance(argument, cst.Arg) else None
    return isinstance(call, cst.Call) and last_name(call.func) == "register_forward_hook"
