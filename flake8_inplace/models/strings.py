"""Methods of strings: of known ones with known arguments, the result is known."""

from __future__ import annotations

from ..heap.values import Const, List, Tuple, Unknown, Value, constant
from .arithmetic import is_small
from .iteration import elements
from .registry import Call, call_method, method

STR = "builtins.str"


def string_method(call: Call, text: str) -> Value:
    """Call a method of a known string."""
    made = call_method(call, Const(text), STR)
    return made if made is not None else Unknown(scalar=True)


def option_method(call: Call, option: Unknown, default: str) -> Unknown:
    """Call a method of an option that is text by default: so is what it returns."""
    found = call.m.symbol(option, call.name, *call.args, scalar=True)
    made = string_method(call, default)
    found.default = made if isinstance(made, Const) else None
    return found


@method(STR, "partition", "rpartition")
def _partition(call: Call, text: Const) -> Value | None:
    separator = constant(call.seen(0))
    if not isinstance(separator, str) or not separator:
        return None
    return Tuple(tuple(map(Const, getattr(text.value, call.name)(separator))))


@method(STR, "join")
def _join(call: Call, text: Const) -> Value | None:
    items, exact = elements(call.m, call.seen(0)) if call.args else ([], False)
    parts = [constant(call.m.see(item)) for item in items]
    known = exact and all(isinstance(part, str) and is_small(part) for part in parts)
    return Const(str(text.value).join(map(str, parts))) if known else None


@method(STR, "startswith", "endswith", "removeprefix", "removesuffix", "replace", "split", "rsplit")
@method(STR, "lower", "upper", "title", "capitalize", "strip", "lstrip", "rstrip")
def _of_constants(call: Call, text: Const) -> Value | None:
    plain: list[object] = []
    for arg in map(call.m.see, call.args):
        items = arg.items if isinstance(arg, Tuple) else (arg,)
        if not all(isinstance(item, Const) and is_small(item.value) for item in items):
            return None
        plain.append(tuple(map(constant, items)) if isinstance(arg, Tuple) else constant(arg))
    named = {name: call.m.see(value) for name, value in call.kwargs.items()}
    if not is_small(text.value) or not all(isinstance(value, Const) for value in named.values()):
        return None
    try:
        result = getattr(text.value, call.name)(*plain, **{name: constant(value) for name, value in named.items()})
    except (TypeError, ValueError):
        return None
    return List([Const(part) for part in result]) if isinstance(result, list) else Const(result)
