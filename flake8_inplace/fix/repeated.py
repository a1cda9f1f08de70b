"""A list or dictionary that holds one tensor many times, as one with a tensor for each element.

``[torch.zeros(3)] * n`` becomes ``[torch.zeros(3) for _ in range(n)]``. A new tensor at one of the places that write
would do for that place only: the next write through another name would be lost, or change them all again.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..finding import Finding, Fix
from .scope import scope_around
from .statements import cloned
from .syntax import Module, dotted, is_path, last_name

_BLANK = frozenset("zeros ones empty full zeros_like ones_like empty_like full_like tensor new_zeros new_ones".split())
"""What makes equal tensors each time that it is called."""


def repeated(module: Module, finding: Finding) -> Iterator[Fix]:
    """The list or dictionary that a finding says is where the elements became one."""
    made = {related.place for related in finding.related}
    for node in module.of(cst.BinaryOperation):
        if isinstance(node.operator, cst.Multiply) and not made.isdisjoint(
            (module.start(node), _operator(module, node))
        ):
            yield from _list(module, node)
    for call in module.of(cst.Call):
        name = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
        stands = not made or not made.isdisjoint((module.start(call), module.start(name)))
        if dotted(call.func) == "dict.fromkeys" and stands:
            yield from _dictionary(module, call)


def _operator(module: Module, node: cst.BinaryOperation) -> object:
    return module.start(node.operator)


def _list(module: Module, node: cst.BinaryOperation) -> Iterator[Fix]:
    """``[x] * n``, and ``n * [x]``."""
    listed, count = (node.left, node.right) if isinstance(node.left, cst.List) else (node.right, node.left)
    if not isinstance(listed, cst.List) or len(listed.elements) != 1 or isinstance(count, cst.List):
        return
    element = _copied(module, listed.elements[0].value)
    if element is not None and not isinstance(listed.elements[0], cst.StarredElement):
        new = f"[{element} for _ in range({module.code(count)})]"
        yield Fix(f"make a tensor for each element: `{new}`", False, (module.replaced(node, new),))


def _dictionary(module: Module, call: cst.Call) -> Iterator[Fix]:
    if len(call.args) != 2 or any(argument.star or argument.keyword for argument in call.args):
        return
    keys, value = call.args
    element, key = _copied(module, value.value), scope_around(module, call).unused("key")
    if element is not None:
        new = f"{{{key}: {element} for {key} in {module.code(keys.value)}}}"
        yield Fix(f"make a tensor for each key: `{new}`", False, (module.replaced(call, new),))


def _copied(module: Module, node: cst.BaseExpression) -> str | None:
    """An expression with another tensor each time; none where the values would be others each time."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and last_name(node.func) in _BLANK:
        return module.code(node)
    return cloned(module, node) if is_path(node) else None
