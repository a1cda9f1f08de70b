"""Functions of Python and PyTorch that are given a function, and call it for every element."""

from __future__ import annotations

from functools import partial

from ..heap.values import NONE, Attributes, Dict, Items, List, Tuple, Unknown, Value
from ..program.site import Site
from ..trace import events
from ..trace.callables import Partial
from ..trace.trace import Trace
from .arithmetic import operator
from .iteration import elements
from .lazy import each, lazily
from .registry import Call, builtin, model


def _rows(call: Call) -> tuple[list[list[Value]], bool]:
    """The elements of all arguments after the function side by side, and whether these are all."""
    columns = [elements(call.m, sequence) for sequence in call.args[1:]]
    rows = [list(row) for row in zip(*(items for items, _ in columns), strict=False)]
    return rows, all(done for _, done in columns)


@builtin("map")
def _map(call: Call) -> Value | None:
    if not call.args:
        return None
    rows, exact = _rows(call)
    return each(call.m, [partial(call.m.call, call.args[0], row, {}, call.site) for row in rows], call.values, exact)


@model("itertools.starmap")
def _starmap(call: Call) -> Value | None:
    if not call.args:
        return None
    packed, exact = _rows(call)
    rows = [elements(call.m, row[0])[0] for row in packed]
    return each(call.m, [partial(call.m.call, call.args[0], row, {}, call.site) for row in rows], call.values, exact)


@model("itertools.accumulate")
def _accumulate(call: Call) -> Value | None:
    """The first element itself, then what the function makes of each result and the next element."""
    if not call.args:
        return None
    items, exact = elements(call.m, call.args[0])
    function, initial = call.m.see(call.argument(1, "func")), call.m.see(call.kwargs.get("initial", NONE))
    steps = items if initial == NONE else [initial, *items]

    made: list[Value] = []

    def total(position: int) -> Value:
        del made[position:]  # of an earlier path, on which it was read too
        item = steps[position]
        if not position:
            made.append(item)
        elif function == NONE:
            made.append(operator(call.m, "add", made[-1], item, call.site))
        else:
            made.append(call.m.call(function, [made[-1], item], {}, call.site))
        return made[-1]

    return each(call.m, [partial(total, position) for position in range(len(steps))], call.values, exact)


@builtin("filter")
@model("itertools.takewhile", "itertools.dropwhile", "itertools.filterfalse")
def _filter(call: Call) -> Value | None:
    """Some of the elements; the function is asked for each."""
    if len(call.args) < 2:
        return None
    rows, _ = _rows(call)

    def some() -> tuple[list[Value], bool]:
        for row in rows if call.seen(0) != NONE else ():
            call.m.call(call.args[0], row, {}, call.site)
        return [row[0] for row in rows], False

    return lazily(call.m, some, call.values)


@model("itertools.groupby")
def _group(call: Call) -> Value | None:
    if not call.args:
        return None
    m, key = call.m, call.m.see(call.argument(1, "key"))
    items, _ = elements(m, call.args[0])

    def groups() -> tuple[list[Value], bool]:
        keys = [m.call(key, [item], {}, call.site) if key != NONE else item for item in items]
        return [Tuple((found, List(items, open=True))) for found in keys[:2]], False

    return lazily(m, groups, items)


@model("functools.reduce")
def _reduce(call: Call) -> Value | None:
    if len(call.args) < 2:
        return None
    m, (function, sequence, *initial) = call.m, call.args
    begin, items = m.tick(), [*initial[:1], *elements(m, sequence)[0]]
    result = items[0] if items else NONE
    for item in items[1:]:
        result = m.call(function, [result, item], {}, call.site)
    if not initial and isinstance(m.see(sequence), List):  # a call in place, as `operator.iadd`, sums up in the first
        events.returns(m, [sequence], result, begin, not m.stack.is_statement(call.site))
    return result


@model("functools.partial")
def _partial(call: Call) -> Value | None:
    return Partial(call.args[0], tuple(call.args[1:]), call.kwargs) if call.args else None


@model("torch.utils._pytree.tree_map")
def _tree_map(call: Call) -> Value | None:
    if not call.args:
        return None
    return _mapped(call.m, call.args[0], call.args[1], call.site, {}) if len(call.args) > 1 else Unknown()


def _mapped(m: Trace, function: Value, value: Value, site: Site, made: dict[Value, Value]) -> Value:
    """The same containers, each made once, of what a function makes of everything in them."""
    value = m.see(value)
    if not isinstance(value, (Tuple, List, Dict)):
        return m.call(function, [value], {}, site)
    if value in made:
        return made[value]
    if isinstance(value, Tuple):
        made[value] = Tuple(tuple(_mapped(m, function, item, site, made) for item in value.items))
    elif isinstance(value, List):
        row = made[value] = List()
        contents = m.state.get(value)
        row.initial = Items(tuple(_mapped(m, function, item, site, made) for item in contents.items), contents.open)
    else:
        table = made[value] = Dict()
        held = m.state.get(value)
        items = {key: _mapped(m, function, item, site, made) for key, item in held.items.items()}
        table.initial = Attributes(items, held.open)
    return made[value]
