"""The parts of a tensor made one by one: ``a, b = x.unbind(1)`` becomes ``a, b = x.select(1, 0), x.select(1, 1)``.

PyTorch refuses a write to one of several views that one call makes. A view that is made alone may be written, and
whoever reads the tensor itself afterwards sees what was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from ..finding import Edit, Fix
from .facts import LEAF
from .forms import Form
from .scope import scope_around
from .statements import line_above
from .syntax import Module, is_method, last_name

_TENSORS = ({"tensor"}, {"tensor", LEAF})


def parts(form: Form) -> Iterator[Fix]:
    """The call that made the views that are written, as one view after the other."""
    if form.form != "views" or form.fact is None:
        return
    module, made = form.module, {related.place for related in form.finding.related}
    for assign in module.of(cst.Assign):
        call, target = assign.value, assign.targets[0].target
        if not isinstance(call, cst.Call) or not isinstance(target, cst.Tuple) or len(assign.targets) != 1:
            continue
        name = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
        receiver = call.func.value if isinstance(call.func, cst.Attribute) and is_method(call) else None
        base, given = receiver, list(call.args)
        if made.isdisjoint((module.start(call), module.start(name))):
            continue
        if base is None and given and given[0].keyword is None:
            base = given.pop(0).value
        starred = any(isinstance(element, cst.StarredElement) for element in target.elements)
        if isinstance(base, cst.Name) and form.fact.kinds.get(base.value) in _TENSORS and not starred:
            yield from _one_by_one(module, assign, call, base.value, given, len(target.elements))


def _one_by_one(
    module: Module, assign: cst.Assign, call: cst.Call, base: str, given: list[cst.Arg], count: int
) -> Iterator[Fix]:
    named = {argument.keyword.value: argument.value for argument in given if argument.keyword is not None}
    plain = [argument.value for argument in given if argument.keyword is None]
    if any(argument.star for argument in given) or not named.keys() <= {"dim", "chunks", "split_size"}:
        return
    size = None
    if (name := last_name(call.func)) != "unbind":
        size = named.get("chunks", named.get("split_size")) or (plain.pop(0) if plain else None)
        if size is None or name not in ("chunk", "split"):
            return
    dim = named.get("dim") or (plain.pop(0) if plain else None)
    where = module.code(dim) if dim is not None else "0"
    before: list[Edit] = []
    if size is None:
        pieces = [f"{base}.select({where}, {i})" for i in range(count)]
    elif isinstance(size, (cst.List, cst.Tuple)):
        sizes = [module.code(element.value) for element in size.elements]
        pieces = [_narrow(base, where, sizes[:i], sizes[i]) for i in range(count)] if len(sizes) == count else []
    else:
        step = scope_around(module, assign).unused("size")
        whole = module.code(size)
        value = f"-(-{base}.size({where}) // {whole})" if name == "chunk" else whole
        start = module.start(assign)
        before.append(Edit(start, start, line_above(module, assign, f"{step} = {value}")))
        pieces = _alike(base, where, step, count)
    if pieces and count > 1:
        edits = (module.replaced(call, ", ".join(pieces)), *before)
        yield Fix("make the views one by one", False, edits)


def _alike(base: str, dim: str, step: str, count: int) -> list[str]:
    """Parts of the same size, but the last: it gets what is left."""
    pieces = [_narrow(base, dim, [step] * i, step) for i in range(count - 1)]
    offset = _sum([step] * (count - 1))
    return [*pieces, f"{base}.narrow({dim}, {offset}, {base}.size({dim}) - {offset})"]


def _narrow(base: str, dim: str, before: Sequence[str], size: str) -> str:
    return f"{base}.narrow({dim}, {_sum(before)}, {size})"


def _sum(sizes: Sequence[str]) -> str:
    if len(sizes) > 1 and len(set(sizes)) == 1:
        return f"{len(sizes)} * {sizes[0]}"
    return " + ".join(sizes) or "0"
