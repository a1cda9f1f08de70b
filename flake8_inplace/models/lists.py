"""Methods of lists and deques."""

from __future__ import annotations

from ..heap.values import NONE, Const, Items, List, Unknown, Value, constant
from ..trace import events
from . import containers, records
from .iteration import elements, following
from .registry import Call, call_method, method

LIST = "builtins.list"
DEQUE = "collections.deque"


def list_method(call: Call, value: List) -> Value:
    """Call a method of a list or deque."""
    made = call_method(call, value, LIST, DEQUE, "collections.abc.Generator")
    if made is None:
        events.hand_over(call.m, call.values)
    return made if made is not None else Unknown()


@method(LIST, "append")
def _append(call: Call, value: List) -> Value:
    containers.append(call.m, value, call.argument(0))
    return NONE


@method(DEQUE, "appendleft")
def _appendleft(call: Call, value: List) -> Value:
    contents: Items = call.m.state.get(value)
    events.append(call.m, value, call.argument(0))
    call.m.state.put(value, Items((call.argument(0), *contents.items), contents.open))
    return NONE


@method(LIST, "extend")
@method(DEQUE, "extendleft")
def _extend(call: Call, value: List) -> Value:
    containers.extend(call.m, value, call.argument(0))
    return NONE


@method(LIST, "insert")
def _insert(call: Call, value: List) -> Value | None:
    if len(call.args) < 2:
        return None
    contents: Items = call.m.state.get(value)
    known = constant(call.args[0])
    where = known if isinstance(known, int) else 0
    events.append(call.m, value, call.args[1])
    call.m.state.put(value, Items((*contents.items[:where], call.args[1], *contents.items[where:]), contents.open))
    return NONE


@method(LIST, "pop")
def _pop(call: Call, value: List) -> Value:
    return _taken(call, value, -1)


@method(DEQUE, "popleft")
def _popleft(call: Call, value: List) -> Value:
    return _taken(call, value, 0)


def _taken(call: Call, value: List, place: int) -> Value:
    index = constant(call.args[0]) if call.args else place
    return containers.pop(call.m, value, index, used=not call.m.stack.is_statement(call.site))


@method(LIST, "clear")
def _clear(call: Call, value: List) -> Value:
    containers.clear(call.m, value)
    return NONE


@method(LIST, "reverse")
def _reverse(call: Call, value: List) -> Value:
    contents: Items = call.m.state.get(value)
    call.m.state.put(value, Items(contents.items[::-1], contents.open))
    return NONE


@method(LIST, "copy")
def _copy(call: Call, value: List) -> Value:
    return records.shallow(call.m, value)


@method("collections.abc.Generator", "__next__", "send")
def _next(call: Call, value: List) -> Value:
    return following(call.m, value, call.site)


@method(LIST, "remove")
def _remove(call: Call, value: List) -> Value:
    """Remove a constant, as from the keys of a table. Which element is equal to another value is not known."""
    contents: Items = call.m.state.get(value)
    wanted, items = call.m.see(call.argument(0)), [call.m.see(item) for item in contents.items]
    if isinstance(wanted, Const) and wanted in items:
        at = items.index(wanted)
        call.m.state.put(value, Items((*contents.items[:at], *contents.items[at + 1 :]), contents.open))
    return NONE


@method(LIST, "sort")
@method(DEQUE, "rotate")
def _rearrange(call: Call, value: List) -> Value:
    key = call.kwargs.get("key", NONE)
    for item in elements(call.m, value)[0] if key != NONE else ():
        call.m.call(key, [item], {}, call.site)
    return NONE  # which elements stand where then does not matter


@method(LIST, "index", "count")
def _number(call: Call, value: List) -> Value:
    return Unknown(scalar=True)
