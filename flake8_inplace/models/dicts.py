"""Methods of dictionaries."""

from __future__ import annotations

from ..heap.values import NONE, Attributes, Dict, List, Tuple, Unknown, Value
from ..trace import events
from ..trace.log import STORED, WRITES
from . import containers, records
from .iteration import VIEWED, key_of, spelled
from .lists import LIST
from .registry import Call, call_method, method

DICT = "builtins.dict"


def dict_method(call: Call, value: Dict) -> Value:
    """Call a method of a dictionary."""
    made = call_method(call, value, DICT)
    if made is None:
        events.hand_over(call.m, call.values)
    return made if made is not None else Unknown()


def _found(call: Call, value: Dict) -> Value | None:
    """The value under the key that is the first argument, if it is known to be there."""
    contents: Attributes = call.m.state.get(value)
    key = key_of(call.seen(0))
    if key is None or key not in contents.items:
        return None
    return containers.read_key(call.m, value, key)


@method(DICT, "get")
def _get(call: Call, value: Dict) -> Value | None:
    if not call.args:
        return None
    found = _found(call, value)
    if found is not None:
        return found
    missing = key_of(call.seen(0)) is not None and not call.m.state.get(value).open
    return call.argument(1) if missing else Unknown()


@method(DICT, "pop")
def _pop(call: Call, value: Dict) -> Value | None:
    found = _found(call, value)
    if found is None:
        return _get(call, value)
    containers.remove(call.m, value, call.args[0])
    return found


@method(DICT, "__setitem__")
@method(LIST, "__setitem__")
def _set_item(call: Call, value: Dict | List) -> Value | None:
    if len(call.args) == 2:
        containers.set_item(call.m, value, *call.args)
    return NONE


@method(DICT, "setdefault")
def _setdefault(call: Call, value: Dict) -> Value | None:
    if not call.args:
        return None
    found = _found(call, value)
    if found is None:
        found = call.argument(1)
        containers.set_item(call.m, value, call.args[0], found)
        if not call.m.stack.is_statement(call.site):
            _found(call, value)  # the program may have a name for it from now on, as after ``table[key]``
    return found


@method(DICT, "items")
def _items(call: Call, value: Dict) -> Value:
    contents = _values_taken(call, value)
    return _view(
        call, value, List([Tuple((spelled(key), item)) for key, item in contents.items.items()], contents.open)
    )


@method(DICT, "keys")
def _keys(call: Call, value: Dict) -> Value:
    contents: Attributes = call.m.state.get(value)
    return List(map(spelled, contents.items), contents.open)


@method(DICT, "values")
def _values(call: Call, value: Dict) -> Value:
    contents = _values_taken(call, value)
    return _view(call, value, List(contents.items.values(), contents.open))


def _view(call: Call, value: Dict, made: List) -> List:
    """The elements of a dictionary, which show what it holds when they are read."""
    call.m.state.set(call.m.state[VIEWED], made, value)
    return made


def _values_taken(call: Call, value: Dict) -> Attributes:
    """What a dictionary holds, when the program reads all of it."""
    contents: Attributes = call.m.state.get(value)
    for item in contents.items.values() if len(call.m.state[STORED]) or len(call.m.state[WRITES]) else ():
        events.load(call.m, value, call.m.see(item), True)
    return contents


@method(DICT, "update")
def _update(call: Call, value: Dict) -> Value:
    containers.update(call.m, value, call.args[0] if call.args else Dict(), call.kwargs)
    return NONE


@method(DICT, "copy")
def _copy(call: Call, value: Dict) -> Value:
    return records.shallow(call.m, value)


@method(DICT, "clear")
def _clear(call: Call, value: Dict) -> Value:
    call.m.state.put(value, Attributes({}))
    return NONE
