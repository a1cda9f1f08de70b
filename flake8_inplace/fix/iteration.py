"""A loop over the rows of a tensor that writes to them, as a loop over its parts by index.

PyTorch refuses a write to one of the views that an iteration makes at once. A part that is made alone, ``x[i]``, shows
the same memory and may be written: whoever was meant to see the write sees it, and every value and gradient stays.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..finding import Edit, Finding, Fix
from .forms import Form
from .heap import LEAF
from .scope import scope_around
from .syntax import Module, is_method, keyword, last_name, root_of, walk

_TENSORS = ({"tensor"}, {"tensor", LEAF})


def iteration(form: Form) -> Iterator[Fix]:
    """The loop that makes the views, by index; every loop that leads to it as well; and the same over a copy."""
    module = form.module
    if form.form != "views":
        return
    loops: list[cst.For] = []
    edits: list[Edit] = []
    for loop in _loops(module, form.finding):
        edit = _by_index(form, loop, len(loops))
        if edit is None:
            break
        loops, edits = [*loops, loop], [*edits, edit]
        yield Fix("index the tensor instead of iterating over it", False, tuple(edits))
    if loops:
        yield from _over_a_copy(form, loops, edits)


def _over_a_copy(form: Form, loops: list[cst.For], edits: list[Edit]) -> Iterator[Fix]:
    """Where an operation keeps the tensor itself, and nobody reads it under another name."""
    loop = loops[-1]
    name = root_of(_base(loop.iter) or loop.iter)
    start = form.module.start(loop)
    indent = form.module.tree.code.split("\n")[start.line - 1][: start.column]
    form.made = {node.value for loop in loops for node in walk(loop.target) if isinstance(node, cst.Name)}
    if isinstance(name, cst.Name) and not indent.strip() and form.can_rebind(name, loop):
        copy = f"{name.value} = {name.value}.clone()"
        yield Fix(f"index a copy: `{copy}`", False, (Edit(start, start, f"{copy}\n{indent}"), *edits))


# Which loops


def _loops(module: Module, finding: Finding) -> Iterator[cst.For]:
    """The loop that makes the views which are written, and those around it that make what it goes through."""
    made = {related.place for related in finding.related}
    names = [node for node in module.of(cst.Name) if module.start(node) in made]
    for loop in module.of(cst.For):
        inside = module.start(loop.body) <= finding.place < module.end(loop.body)
        if inside and any(not {loop.target, loop.iter}.isdisjoint((name, *module.above(name))) for name in names):
            yield loop
            yield from _leading(module, loop)
            return


def _leading(module: Module, loop: cst.For) -> Iterator[cst.For]:
    for outer in module.above(loop):
        if isinstance(outer, cst.FunctionDef):
            return
        root = root_of(_base(loop.iter) or loop.iter)
        if isinstance(outer, cst.For) and isinstance(root, cst.Name) and _binds(outer.target, root.value):
            yield outer
            loop = outer


def _binds(target: cst.BaseExpression, name: str) -> bool:
    if isinstance(target, cst.Tuple):
        return any(_binds(element.value, name) for element in target.elements)
    return isinstance(target, cst.Name) and target.value == name


# What they go through


def _by_index(form: Form, loop: cst.For, depth: int) -> Edit | None:
    """The iterable of a loop, its first tensor as a generator of parts; none where that is not surely a tensor."""
    iterable = _iterable(loop.iter)
    base = _base(loop.iter)
    if iterable is None or base is None or not _stays(form, base, loop):
        return None
    dimension = _dimension(form.module, iterable)
    if dimension is None:
        return None
    path = form.module.code(base)
    row = scope_around(form.module, loop).unused("i" if not depth else f"i{depth}")
    one, many = (f"{path}[{row}]", f"len({path})")
    if dimension != "0":
        one, many = f"{path}.select({dimension}, {row})", f"{path}.size({dimension})"
    return form.module.replaced(iterable, f"({one} for {row} in range({many}))")


def _iterable(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """``x`` of ``enumerate(x)``, and of ``zip(x, means)``."""
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value in ("enumerate", "zip"):
        if not node.args or node.args[0].star or node.args[0].keyword:
            return None
        node = node.args[0].value
    return node


def _base(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """``x`` of ``x.unbind(1)`` as well."""
    found = _iterable(node)
    if isinstance(found, cst.Call):
        called = found.func
        return called.value if isinstance(called, cst.Attribute) and called.attr.value == "unbind" else None
    return found


def _dimension(module: Module, iterable: cst.BaseExpression) -> str | None:
    if not isinstance(iterable, cst.Call):
        return "0"
    if not is_method(iterable) or last_name(iterable.func) != "unbind" or len(iterable.args) > 1:
        return None
    given = keyword(iterable, "dim") or (iterable.args[0] if iterable.args else None)
    return module.code(given.value) if given is not None else "0"


def _stays(form: Form, base: cst.BaseExpression, loop: cst.For) -> bool:
    """Whether an expression is a tensor, or a part by number, as far as the analysis saw, the same in every round."""
    if isinstance(base, cst.Subscript):
        indices = [part.slice.value for part in base.slice if isinstance(part.slice, cst.Index)]
        numbers = len(indices) == len(base.slice) and all(isinstance(index, cst.Integer) for index in indices)
        return numbers and _stays(form, base.value, loop)
    if not isinstance(base, cst.Name) or form.fact is None or form.fact.kinds.get(base.value) not in _TENSORS:
        return False
    start, end = form.module.start(loop), form.module.end(loop)
    again = (form.module.start(found) for found, _ in scope_around(form.module, loop).bindings(base.value))
    changed = (node.target for node in form.module.of(cst.AugAssign))
    places = [*again, *(form.module.start(node) for node in changed if _binds(node, base.value))]
    return not any(start <= place < end for place in places)
