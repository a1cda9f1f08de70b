"""A loop over the rows of a tensor that writes to them, as a loop over its parts by index.

PyTorch refuses a write to one of the views that an iteration makes at once. A part that is made alone, ``x[i]``, shows
the same memory and may be written: whoever was meant to see the write sees it, and every value and gradient stays.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..finding import Edit, Finding, Fix
from .facts import LEAF
from .forms import Form
from .scope import scope_around
from .syntax import Module, dotted, is_method, is_path, last_name, root_of, walk

_DIVIDE = ("unbind", "chunk", "split")
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
    form.readers.made = {node.value for loop in loops for node in walk(loop.target) if isinstance(node, cst.Name)}
    if isinstance(name, cst.Name) and not indent.strip() and form.readers.can_rebind(name, loop):
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
    iterable, base = _iterable(loop.iter), _base(loop.iter)
    if iterable is None or base is None or not _is_tensor(form, base):
        return None
    module, scope, rounds = form.module, scope_around(form.module, loop), ""
    path, row = module.code(base), scope.unused("i" if not depth else f"i{depth}")
    if not _stays(module, base, loop):
        path, rounds = (name := scope.unused("whole")), f" for {name} in [{path}]"
    one, places = f"{path}[{row}]", f"len({path})"
    if isinstance(iterable, cst.Call):
        given = _size(module, iterable, path)
        if given is None:
            return None
        size, dim = given
        whole = f"{path}.size({dim})"
        one, places = f"{path}.select({dim}, {row})", whole
        if size:
            if not size.isdigit():
                size, rounds = (name := scope.unused("size")), f"{rounds} for {name} in [{size}]"
            one, places = f"{path}.narrow({dim}, {row}, min({size}, {whole} - {row}))", f"0, {whole}, {size}"
    return module.replaced(iterable, f"({one}{rounds} for {row} in range({places}))")


def _size(module: Module, call: cst.Call, path: str) -> tuple[str, str] | None:
    """The size of the parts that a call makes, empty for ``unbind``, and the dimension; none for a list of sizes."""
    name = last_name(call.func)
    names = {"chunk": ("chunks", "dim"), "split": ("split_size", "dim")}.get(name, ("dim",))
    if not is_method(call) or any(argument.star for argument in call.args) or len(call.args) > len(names):
        return None
    given = {
        argument.keyword.value if argument.keyword else names[at]: argument.value
        for at, argument in enumerate(call.args)
    }
    count, dim = given.get(names[0]), module.code(given["dim"]) if "dim" in given else "0"
    if name == "unbind":
        return "", dim
    if not isinstance(count, cst.Integer):
        return None
    return (f"-(-{path}.size({dim}) // {count.value})" if name == "chunk" else count.value), dim


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
        return called.value if isinstance(called, cst.Attribute) and called.attr.value in _DIVIDE else None
    return found


def _is_tensor(form: Form, base: cst.BaseExpression) -> bool:
    """Whether the analysis saw nothing but tensors there. Of elements it is not asked: there would be no views."""
    if isinstance(base, cst.Subscript):
        return is_path(base.value) or _is_tensor(form, base.value)
    kinds = form.fact.kinds.get(dotted(base), set()) if form.fact is not None else set()
    return kinds in _TENSORS or (isinstance(base, cst.Attribute) and kinds - {"", LEAF} == {"tensor"})


def _stays(module: Module, base: cst.BaseExpression, loop: cst.For) -> bool:
    """Whether a name, or a part by number of it, is the same in every round."""
    if isinstance(base, cst.Subscript):
        indices = [part.slice.value for part in base.slice if isinstance(part.slice, cst.Index)]
        numbers = len(indices) == len(base.slice) and all(isinstance(index, cst.Integer) for index in indices)
        return numbers and _stays(module, base.value, loop)
    if not isinstance(base, cst.Name):
        return False
    start, end = module.start(loop), module.end(loop)
    again = (module.start(found) for found, _ in scope_around(module, loop).bindings(base.value))
    changed = (node.target for node in module.of(cst.AugAssign))
    places = [*again, *(module.start(node) for node in changed if _binds(node, base.value))]
    return not any(start <= place < end for place in places)
