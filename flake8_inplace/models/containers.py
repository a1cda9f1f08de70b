"""Lists and dictionaries."""

from __future__ import annotations

from ..heap.join import CHOICES, choose
from ..heap.values import (
    NONE,
    Attributes,
    Callable_,
    Choice,
    Const,
    Dict,
    Guard,
    Items,
    List,
    Object,
    Ref,
    Slice,
    Tuple,
    Unknown,
    Value,
    constant,
    part_grad,
)
from ..program.site import Site
from ..trace import events
from ..trace.frames import Function
from ..trace.log import STORED
from ..trace.trace import Trace
from . import records
from .iteration import LONGEST, elements, key_of, spelled


def bounded(items: tuple[Value, ...], open: bool) -> List:
    """A list of these elements, of which a very long one keeps the first."""
    return List(items[:LONGEST], open or len(items) > LONGEST)


def position(m: Trace, value: List, index: Value) -> int | None:
    """Where in the known part of a list an index points to.

    An index that is no constant is taken to be an element of its own, the same for the same index expression.
    """
    contents: Items = m.state.get(value)
    key, size = key_of(index), len(contents.items)
    if isinstance(key, int):
        where = key + size if key == -1 or (key < 0 and not contents.open) else key
        if not 0 <= where < size:
            return None
    elif not isinstance(index, Unknown):
        return None
    elif index in contents.picked:
        return contents.picked[index]
    else:
        others = contents.picked.items()
        apart = {where for _, where in others}, {where for other, where in others if isinstance(other, Unknown)}
        free = [where for taken in apart for where in range(size) if where not in taken]
        if not free:
            return None
        key, where = index, free[0]
    if key not in contents.picked:
        m.state.put(value, Items(contents.items, contents.open, {**contents.picked, key: where}))
    return where


def _any_callable(m: Trace, value: Dict, key: Unknown) -> Value:
    """``{"relu": nn.ReLU(), ...}[name]``: one of a few things to be called, or something unknown."""
    contents = m.state.get(value)
    found = {name: m.see(item) for name, item in contents.items.items()}
    if len(found) > CHOICES or not all(isinstance(v, (Callable_, Object, Ref)) for v in found.values()):
        return Unknown()
    options: list[tuple[Guard, Value]] = []
    others: Guard = frozenset()
    for name, item in found.items():
        symbol = m.symbol("key", key, name, scalar=True)
        options.append((others | {(symbol, True)}, item))
        others |= {(symbol, False)}
    if contents.open:
        options.append((others, Unknown()))
    return choose(options)


def get_item(m: Trace, value: Value, index: Value) -> Value:
    """``value[index]`` for Python's containers."""
    index = m.see(index)
    if isinstance(value, Tuple):
        fixed = key_of(index)
        if isinstance(fixed, int) and -len(value.items) <= fixed < len(value.items):
            return value.items[fixed]
        if isinstance(index, Slice):
            part = sliced(value.items, index)
            return Tuple(part) if part is not None else List(value.items, open=True)
        return Unknown()
    if isinstance(value, List):
        contents = m.state.get(value)
        if isinstance(index, Slice):
            part = None if contents.open else sliced(contents.items, index)
            return List(_from(contents.items, index), open=True) if part is None else List(part)
        where = position(m, value, index)
        if where is not None:
            events.load(m, value, m.see(contents.items[where]), True)
        return contents.items[where] if where is not None else Unknown()
    if isinstance(value, Dict) and isinstance(index, Choice):
        return m.split([index], lambda keys: get_item(m, value, keys[0]))
    if isinstance(value, Dict):
        key = key_of(index)
        if key is not None or index == NONE:
            table = m.state.get(value)
            if key in table.items:
                found: Value = table.items[key]
                events.load(m, value, m.see(found), True)
                return found
            if value.factory is None:
                return m.symbol(value, "[]", key) if table.open else Unknown()
            return _missing(m, value, index)
        if isinstance(index, Unknown):
            found = m.state.get(value).items.get(index, Unknown())
            if value.factory is None and isinstance(found, Unknown):
                return _any_callable(m, value, index)
            return _missing(m, value, index) if value.factory and isinstance(found, Unknown) else found
        return Unknown()
    if isinstance(value, Unknown):
        if value.scalar:
            return m.symbol(value, "[]", index, scalar=True)
        if (value, "[]", key_of(index)) in m.state.store:
            return m.see(m.state.store[value, "[]", key_of(index)])
        key = index if isinstance(index, (Const, Unknown)) else None
        if key is not None and (key_of(index) is not None or isinstance(index, Unknown)):
            element = m.symbol(value, "[]", key, grad=part_grad(value))
            events.read_part(m, m.see(element))
            return element
        return Unknown(part_grad(value), value.node)
    return Unknown()


def _missing(m: Trace, value: Dict, index: Value) -> Value:
    """What a defaultdict makes for a key that it has not."""
    factory = value.factory
    if isinstance(factory, Function):
        made = m.run(factory, [], {}, Site(factory.piece, factory.node, factory.node))
    elif factory in (Ref("builtins.list"), Ref("builtins.dict")):
        made = List() if factory == Ref("builtins.list") else Dict()
    else:
        return Unknown(scalar=factory in (Ref("builtins.int"), Ref("builtins.float")))
    set_item(m, value, index, made)
    return made


def _from(items: tuple[Value, ...], index: Slice) -> tuple[Value, ...]:
    """Some elements of a list of unknown length; not the first one first, where a slice begins later."""
    return items if index.lower in (NONE, Const(0)) else (*items[1:], *items[:1])


def sliced(items: tuple[Value, ...], index: Slice) -> tuple[Value, ...] | None:
    """The elements that a slice takes, where its bounds are known."""
    bounds = (index.lower, index.upper, index.step)
    known = all(isinstance(bound, Const) and isinstance(bound.value, (int, type(None))) for bound in bounds)
    if known and constant(index.step) != 0:
        return items[slice(*(constant(bound) for bound in bounds))]
    return None


def set_item(m: Trace, value: Value, index: Value, new: Value) -> None:
    """``value[index] = new`` for Python's containers."""
    index = m.see(index)
    if isinstance(value, List):
        contents = m.state.get(value)
        if isinstance(index, Slice):
            items, exact = elements(m, new)
            replaced = with_slice(contents, index, items) if exact and not contents.open else None
            m.state.put(value, replaced or Items((*contents.items, *items), True))
            return
        where = position(m, value, index)
        contents = m.state.get(value)
        if where is not None:
            events.store(m, value, new)
            changed = list(contents.items)
            changed[where] = new
            m.state.put(value, Items(tuple(changed), contents.open, contents.picked))
    elif isinstance(value, Dict):
        table = m.state.get(value)
        key = key_of(index)
        if key is None and isinstance(index, Unknown):
            key = index
        if key is not None:
            events.store_key(m, value, key, new)
            events.store(m, value, new)
            m.state.put(value, Attributes({**table.items, key: new}, table.open))
        else:
            m.state.put(value, Attributes(table.items, True))


def with_slice(contents: Items, index: Slice, new: list[Value]) -> Items | None:
    """A list with other elements in the place of some; None where it is not known of which."""
    bounds = [constant(bound) for bound in (index.lower, index.upper, index.step)]
    known = all(isinstance(bound, Const) for bound in (index.lower, index.upper, index.step))
    if not known or not all(bound is None or isinstance(bound, int) for bound in bounds) or bounds[2] is not None:
        return None
    items = list(contents.items)
    items[slice(*bounds)] = new
    return Items(tuple(items))


def list_method(m: Trace, value: List, name: str, args: list[Value]) -> Value:
    contents: Items = m.state.get(value)
    first = args[0] if args else NONE
    if name in ("append", "appendleft"):
        events.append(m, value, first)
        items = (*contents.items, first) if name == "append" else (first, *contents.items)
        m.state.put(value, Items(items, contents.open))
        return NONE
    if name in ("extend", "extendleft"):
        extend(m, value, first)
        return NONE
    if name == "insert" and len(args) > 1:
        where = constant(first)
        where = where if isinstance(where, int) else 0
        m.state.put(value, Items((*contents.items[:where], args[1], *contents.items[where:]), contents.open))
        return NONE
    if name in ("pop", "popleft"):
        index = constant(first) if args else (-1 if name == "pop" else 0)
        if isinstance(index, int) and -len(contents.items) <= index < len(contents.items):
            left = list(contents.items)
            taken = left.pop(index)
            events.load(m, value, m.see(taken), True)
            m.state.put(value, Items(tuple(left), contents.open))
            return taken
        return Unknown()
    if name == "clear":
        for item in contents.items:
            events.remove(m, value, item)
        m.state.put(value, Items(()))
        return NONE
    if name == "reverse":
        m.state.put(value, Items(contents.items[::-1], contents.open))
        return NONE
    if name == "copy":
        return records.shallow(m, value)
    if name == "__next__":
        return elements(m, value)[0][0] if contents.items else Unknown()
    return NONE if name in ("sort", "remove", "rotate") else Unknown(scalar=name in ("index", "count"))


def extend(m: Trace, value: List, more: Value) -> None:
    contents: Items = m.state.get(value)
    items, exact = elements(m, more)
    whole = bounded((*contents.items, *items), contents.open or not exact)
    m.state.put(value, whole.initial)


def dict_method(m: Trace, value: Dict, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    contents: Attributes = m.state.get(value)
    for item in contents.items.values() if m.state[STORED] and name in ("items", "values") else ():
        events.load(m, value, m.see(item), True)
    if name in ("get", "pop", "setdefault") and args:
        key = key_of(m.see(args[0]))
        if key is not None and key in contents.items:
            events.load(m, value, m.see(contents.items[key]), True)
            if name == "pop":
                remove(m, value, args[0])
            return contents.items[key]
        default = args[1] if len(args) > 1 else NONE
        if name == "setdefault":
            set_item(m, value, args[0], default)
            return default
        return Unknown() if contents.open or key is None else default
    if name == "items":
        return List([Tuple((spelled(key), item)) for key, item in contents.items.items()], contents.open)
    if name == "keys":
        return List(map(spelled, contents.items), contents.open)
    if name == "values":
        return List(contents.items.values(), contents.open)
    if name == "update":
        other = records.entries(m, args[0]) if args else Attributes({})
        for item in other.items.values():
            events.store(m, value, item)
        m.state.put(value, Attributes({**contents.items, **other.items, **kwargs}, contents.open or other.open))
        return NONE
    if name == "copy":
        return records.shallow(m, value)
    if name == "clear":
        m.state.put(value, Attributes({}))
        return NONE
    return Unknown()


def remove(m: Trace, value: Value, index: Value) -> None:
    """``del value[index]``, for Python's containers."""
    index = m.see(index)
    key = key_of(index)
    if isinstance(value, Dict) and key is not None:
        table = m.state.get(value)
        left = {name: item for name, item in table.items.items() if name != key}
        m.state.put(value, Attributes(left, table.open))
    elif isinstance(value, List) and isinstance(index, Slice):
        contents = m.state.get(value)
        less = with_slice(contents, index, [])
        m.state.put(value, less if less is not None and not contents.open else Items(contents.items, True))
    elif isinstance(value, List):
        list_method(m, value, "pop", [index])
