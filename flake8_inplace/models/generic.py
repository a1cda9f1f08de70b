"""``functools.singledispatch``: a function that has an implementation for each type of its first argument."""

from __future__ import annotations

from ..heap.values import Const, Items, List, Object, Ref, Tuple, Value
from ..trace.callables import Dispatch
from ..trace.trace import Trace
from .builtins import instance_of
from .lineage import lineage
from .registry import Call, model
from .tensors import unknown_call

SINGLE = "functools.singledispatch"


@model(SINGLE)
def _generic(call: Call) -> Value | None:
    return Dispatch(call.args[0], List()) if call.args else None


def register(m: Trace, generic: Dispatch, cls: Value, function: Value) -> None:
    """Add an implementation for a type, or put it in the place of the one that the type had."""
    rows = m.state.get(generic.table)
    others = [row for row in rows.items if not (isinstance(row, Tuple) and row.items[0] == cls)]
    m.state.put(generic.table, Items((*others, Tuple((cls, function))), rows.open))


def call_generic(call: Call, generic: Dispatch) -> Value:
    """Call the implementation for the type of the first argument. If that type isn't known, neither is the call."""
    if not call.args:
        return unknown_call(call.m, *call.values)

    def run(options: list[Value]) -> Value:
        found = _implementation(call.m, generic, options[0])
        if found is None:
            return unknown_call(call.m, *call.values)
        return call.m.call(found, [options[0], *call.args[1:]], call.kwargs, call.site)

    return call.m.split([call.args[0]], run)


def _implementation(m: Trace, generic: Dispatch, value: Value) -> Value | None:
    """Return the function that is called with a value; None if that depends on what isn't known of it."""
    fitting: dict[Value, Value] = {}
    for row in m.state.get(generic.table).items:
        if isinstance(row, Tuple):
            cls, function = row.items
            fits = instance_of(m, value, cls)
            if not isinstance(fits, Const):
                return None
            if fits.value:
                fitting[cls] = function
    if len(fitting) > 1 and isinstance(value, Object):
        order = [cls for cls in lineage(value.cls) if cls in fitting]
        return fitting[order[0]] if order else None
    if Ref("torch.nn.Parameter") in fitting:  # the narrower type
        return fitting[Ref("torch.nn.Parameter")]
    return next(reversed(fitting.values()), generic.function)
