"""Python's own values: lists, tuples, dictionaries, iteration, and the builtins that move tensors about."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any

from ..torchfacts import ops as facts
from . import classes, stale, tensors
from .domain import (
    CHOICES,
    ITEMS,
    NONE,
    Array,
    Attributes,
    Callable_,
    Cell,
    Choice,
    Condition,
    Const,
    Dict,
    Grad,
    Guard,
    Items,
    List,
    Object,
    Ref,
    Slice,
    Tensor,
    Tuple,
    Unknown,
    Value,
    choose,
    part_grad,
)
from .machine import Class, Function, Machine, Site, constant, is_number

UNROLL = 4
"""Loops over this many known numbers or fewer are read once a number; all others twice."""
UNROLL_OTHERS = 16
"""The same for everything else: modules, tensors, rows of a configuration."""
LONGEST = 1024
"""The most elements of a list that are kept."""
ELEMENTS = 64
"""The most elements of one value that are told apart."""
SIZE = 1000
"""The most characters of a text, or bits of a number, that something is still computed with."""


def elements(m: Machine, value: Value) -> tuple[list[Value], bool]:
    """The elements that iteration over a value yields, and whether these are all of them.

    Where the length is unknown two elements stand for all.
    """
    value = classes.as_tuple(m, m.see(value))
    if isinstance(value, Choice):
        return _either(m, value)
    if isinstance(value, Tuple):
        return list(value.items[:ELEMENTS]), len(value.items) <= ELEMENTS
    if isinstance(value, List):
        contents = m.state.get(value)
        for item in contents.items if m.stored else ():
            stale.taken(m, value, m.see(item))
        if contents.open:
            items = list(contents.items[:ELEMENTS])
            while len(items) < 2:
                items.append(another(m, items[0]) if items else Unknown())
            return items, False
        return list(contents.items[:ELEMENTS]), len(contents.items) <= ELEMENTS
    if isinstance(value, Dict):
        contents = m.state.get(value)
        keys = list(map(spelled, contents.items))
        if contents.open:  # what keys there are besides is not known
            return [*keys[:ELEMENTS], Unknown(), Unknown()][: max(len(keys), 2)], False
        return keys[:ELEMENTS], len(keys) <= ELEMENTS
    if isinstance(value, Tensor):
        return [tensors.element(m, value), tensors.element(m, value)], False
    if isinstance(value, Const) and isinstance(value.value, (range, str)):
        return [Const(item) for item in value.value[:ELEMENTS]], not value.value[ELEMENTS:]
    if isinstance(value, Object):
        name = value.cls.name if isinstance(value.cls, Ref) else ""
        contents = m.state.get(value).items
        if name == "range":
            return [contents["start"], Unknown(scalar=True, positive=True)], False
        if ITEMS in contents:
            return elements(m, contents[ITEMS])
        return _iterated(m, value)
    if isinstance(value, Unknown):
        return [_part(value), _part(value)], False
    return [Unknown(), Unknown()], False


def _either(m: Machine, value: Choice) -> tuple[list[Value], bool]:
    """Iteration over one of several values: place by place one of their elements."""
    rows = [(guard, *elements(m, option)) for guard, option in value.options if m.state.possible(guard)]
    longest = max((len(items) for _, items, _ in rows), default=0)
    columns = []
    for i in range(longest):
        options = [(guard, items[i]) for guard, items, _ in rows if i < len(items)]
        columns.append(choose(options, partial=len(options) < len(rows)))
    return columns, all(done and len(items) == longest for _, items, done in rows)


def few(m: Machine, items: list[Value], exact: bool, configures: bool) -> tuple[list[Value], bool]:
    """The elements that a loop is read with: all of a short list, two of a long one.

    A loop that ``configures`` modules is read with all of them. Of many tensors those come first that something saved.
    Of many numbers the second stands for all that follow.
    """
    numbers = all(isinstance(item, Const) and type(item.value) is int for item in items)
    modules = configures and all(isinstance(_last(m, item), Object) for item in items)
    if len(items) <= (UNROLL if numbers else ELEMENTS if modules else UNROLL_OTHERS):
        return items, exact
    if numbers:
        first, second = (constant(item) for item in items[:2])
        return [items[0], Unknown(scalar=True, positive=0 <= first < second)], False
    return sorted(items, key=lambda item: not (isinstance(item, Tensor) and m.state.get(item.storage)))[:2], False


def _last(m: Machine, item: Value) -> Value:
    """The module of what ``named_modules()`` yields: a name and a module."""
    item = m.see(item)
    return m.see(item.items[-1]) if isinstance(item, Tuple) and item.items else item


def collected(m: Machine, source: Value, rows: list[Value]) -> None:
    """All that a generator hands out is kept before anybody reads it: what it overwrote meanwhile is lost."""
    handed = m.handed.get(source, ()) if isinstance(source, List) else ()
    memory = {tensor.storage for row in rows for tensor in classes.held(m, row, set())} if handed else set()
    for time, frame, value in handed:
        for tensor in classes.held(m, value, set()):
            for event in stale.since(m, tensor, time) if tensor.storage in memory else ():
                if frame in event.frames and stale.whole(tensor, event):
                    m.refuse("read", event.site)


def _bounded(items: tuple[Value, ...], open: bool) -> List:
    """A list of these elements, of which a very long one keeps the first."""
    return List(items[:LONGEST], open or len(items) > LONGEST)


def another(m: Machine, item: Value) -> Value:
    """What one more round of a loop would see after ``item``: a value like it, with memory of its own."""
    item = m.see(item)
    if isinstance(item, Tuple):
        return Tuple(tuple(another(m, part) for part in item.items))
    if isinstance(item, Tensor) and not item.view:
        state = m.cell(item)
        return Tensor(cell=Cell(state.grad, state.node, state.leaf), dims=item.dims)
    return item


def _part(value: Unknown) -> Unknown:
    """An element or attribute of an unknown value."""
    return Unknown(part_grad(value), value.node, scalar=value.scalar, likely=value.likely)


def length(m: Machine, value: Value) -> Value:
    value = m.see(value)
    if isinstance(value, Tuple):
        return Const(len(value.items))
    if isinstance(value, List):
        contents = m.state.get(value)
        if not contents.open:
            return Const(len(contents.items))
    if isinstance(value, Const) and hasattr(value.value, "__len__"):
        with suppress(OverflowError):  # range(10**40)
            return Const(len(value.value))
    return m.symbol("len", value if isinstance(value, Hashable) else id(value), scalar=True)


def unpack(m: Machine, value: Value, count: int, star: int | None = None) -> list[Value]:
    """The values that ``a, b, *c = value`` binds."""
    value = classes.as_tuple(m, m.see(value))
    if isinstance(value, Choice):
        columns = [unpack(m, option, count, star) for guard, option in value.options if m.state.possible(guard)]
        guards = [guard for guard, option in value.options if m.state.possible(guard)]
        return [choose(list(zip(guards, column, strict=True))) for column in zip(*columns, strict=True)]
    if isinstance(value, Tuple) or (isinstance(value, List) and not m.state.get(value).open):
        items = list(value.items if isinstance(value, Tuple) else m.state.get(value).items)
        if star is not None and len(items) >= count - 1:
            tail = count - 1 - star
            middle = List(items[star : len(items) - tail])
            return [*items[:star], middle, *items[len(items) - tail :]]
        if len(items) == count:
            return items
        return [Unknown() for _ in range(count)]
    if isinstance(value, List):
        items = list(m.state.get(value).items)
        while items and len(items) < count:
            last = m.see(items[-1])
            items.append(tensors.view(m, last, last.view) if isinstance(last, Tensor) else _part_of(last))
        return items[:count] if items else [Unknown() for _ in range(count)]
    if isinstance(value, Object):
        found, exact = elements(m, value)
        return unpack(m, List(found, not exact), count, star)
    if isinstance(value, Tensor):
        return [tensors.element(m, value) for _ in range(count)]
    if isinstance(value, Unknown):
        return [
            m.symbol(value, "[]", index, grad=part_grad(value)) if not value.scalar else Unknown(scalar=True)
            for index in range(count)
        ]
    return [Unknown() for _ in range(count)]


def _part_of(value: Value) -> Value:
    return _part(value) if isinstance(value, Unknown) else Unknown()


# -- lists and dictionaries


def key_of(value: Value) -> Hashable | None:
    """What a constant, a tuple of constants, a module or a parameter is as a key."""
    if isinstance(value, (Object, Tensor)):
        return value
    if isinstance(value, Tuple) and all(isinstance(item, Const) for item in value.items):
        return tuple(map(key_of, value.items))
    if isinstance(value, Const):
        try:
            hash(value.value)
        except TypeError:
            return None
        return value.value  # type: ignore[no-any-return]
    return None


def spelled(key: Hashable) -> Value:
    """The value that a key of a dictionary is: what `key_of` makes a key of."""
    if isinstance(key, tuple):
        return Tuple(tuple(map(spelled, key)))
    return key if isinstance(key, (Unknown, Object, Tensor)) else Const(key)


def position(m: Machine, value: List, index: Value) -> int | None:
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


def _any_callable(m: Machine, value: Dict, key: Unknown) -> Value:
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


def get_item(m: Machine, value: Value, index: Value) -> Value:
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
            stale.taken(m, value, m.see(contents.items[where]))
        return contents.items[where] if where is not None else Unknown()
    if isinstance(value, Dict) and isinstance(index, Choice):
        return m.split([index], lambda keys: get_item(m, value, keys[0]))
    if isinstance(value, Dict):
        key = key_of(index)
        if key is not None or index == NONE:
            contents = m.state.get(value)
            if key in contents.items:
                found: Value = contents.items[key]
                stale.taken(m, value, m.see(found))
                return found
            if value.factory is None:
                return m.symbol(value, "[]", key) if contents.open else Unknown()
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
            stale.read_part(m, m.see(element))
            return element
        return Unknown(part_grad(value), value.node)
    return Unknown()


def _missing(m: Machine, value: Dict, index: Value) -> Value:
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


def set_item(m: Machine, value: Value, index: Value, new: Value) -> None:
    """``value[index] = new`` for Python's containers."""
    index = m.see(index)
    if isinstance(value, List):
        contents = m.state.get(value)
        if isinstance(index, Slice):
            items, exact = elements(m, new)
            replaced = _replaced(contents, index, items) if exact and not contents.open else None
            m.state.put(value, replaced or Items((*contents.items, *items), True))
            return
        where = position(m, value, index)
        contents = m.state.get(value)
        if where is not None:
            stale.stored(m, value, new)
            changed = list(contents.items)
            changed[where] = new
            m.state.put(value, Items(tuple(changed), contents.open, contents.picked))
    elif isinstance(value, Dict):
        contents = m.state.get(value)
        key = key_of(index)
        if key is None and isinstance(index, Unknown):
            key = index
        if key is not None:
            stale.named(m, value, key, new)
            stale.stored(m, value, new)
            m.state.put(value, Attributes({**contents.items, key: new}, contents.open))
        else:
            m.state.put(value, Attributes(contents.items, True))


def _replaced(contents: Items, index: Slice, new: list[Value]) -> Items | None:
    """A list with other elements in the place of some; None where it is not known of which."""
    bounds = [constant(bound) for bound in (index.lower, index.upper, index.step)]
    known = all(isinstance(bound, Const) for bound in (index.lower, index.upper, index.step))
    if not known or not all(bound is None or isinstance(bound, int) for bound in bounds) or bounds[2] is not None:
        return None
    items = list(contents.items)
    items[slice(*bounds)] = new
    return Items(tuple(items))


def list_method(m: Machine, value: List, name: str, args: list[Value]) -> Value:
    contents: Items = m.state.get(value)
    first = args[0] if args else NONE
    if name in ("append", "appendleft"):
        stale.appended(m, value, first)
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
            stale.taken(m, value, m.see(taken))
            m.state.put(value, Items(tuple(left), contents.open))
            return taken
        return Unknown()
    if name == "clear":
        for item in contents.items:
            stale.dropped(m, value, item)
        m.state.put(value, Items(()))
        return NONE
    if name == "reverse":
        m.state.put(value, Items(contents.items[::-1], contents.open))
        return NONE
    if name == "copy":
        return classes.shallow(m, value)
    if name == "__next__":
        return elements(m, value)[0][0] if contents.items else Unknown()
    return NONE if name in ("sort", "remove", "rotate") else Unknown(scalar=name in ("index", "count"))


def extend(m: Machine, value: List, more: Value) -> None:
    contents: Items = m.state.get(value)
    items, exact = elements(m, more)
    whole = _bounded((*contents.items, *items), contents.open or not exact)
    m.state.put(value, whole.initial)


def dict_method(m: Machine, value: Dict, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    contents: Attributes = m.state.get(value)
    for item in contents.items.values() if m.stored and name in ("items", "values") else ():
        stale.taken(m, value, m.see(item))
    if name in ("get", "pop", "setdefault") and args:
        key = key_of(m.see(args[0]))
        if key is not None and key in contents.items:
            stale.taken(m, value, m.see(contents.items[key]))
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
        other = classes.entries(m, args[0]) if args else Attributes({})
        for item in other.items.values():
            stale.stored(m, value, item)
        m.state.put(value, Attributes({**contents.items, **other.items, **kwargs}, contents.open or other.open))
        return NONE
    if name == "copy":
        return classes.shallow(m, value)
    if name == "clear":
        m.state.put(value, Attributes({}))
        return NONE
    return Unknown()


def remove(m: Machine, value: Value, index: Value) -> None:
    """``del value[index]``, for Python's containers."""
    index = m.see(index)
    key = key_of(index)
    if isinstance(value, Dict) and key is not None:
        contents = m.state.get(value)
        left = {name: item for name, item in contents.items.items() if name != key}
        m.state.put(value, Attributes(left, contents.open))
    elif isinstance(value, List) and isinstance(index, Slice):
        contents = m.state.get(value)
        less = _replaced(contents, index, [])
        m.state.put(value, less if less is not None and not contents.open else Items(contents.items, True))
    elif isinstance(value, List):
        list_method(m, value, "pop", [index])


# -- builtins


def builtin(m: Machine, name: str, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value | None:
    """Call a builtin of Python; None where it is none that matters here."""
    if name in ("abs", "pow", "len", "isinstance") and any(isinstance(m.see(arg), Choice) for arg in args):
        return m.split(args, lambda values: builtin(m, name, values, kwargs, site) or Unknown())
    first = m.see(args[0]) if args else NONE
    if name == "len":
        if isinstance(first, Tensor):
            return m.symbol(first, "len", scalar=True)
        return length(m, first)
    if name == "range":
        return _range(args)
    if name == "slice" and args:
        bounds = [NONE, *args, NONE] if len(args) == 1 else [*args, NONE]
        return Slice(*(m.see(bound) for bound in bounds[:3]))
    if name in ("zip", "enumerate"):
        return _zip(m, name, args)
    if name in ("list", "tuple", "reversed", "sorted", "iter", "set"):
        items, exact = elements(m, first) if args else ([], True)
        if name in ("list", "tuple") and m.handed:
            collected(m, first, items)
        if name == "reversed":
            items = items[::-1]
        return Tuple(tuple(items)) if name == "tuple" and exact else List(items, not exact)
    if name == "next":
        return elements(m, first)[0][0] if args and elements(m, first)[0] else Unknown()
    if name in ("max", "min") and len(args) == 1 and "key" in kwargs:
        return get_item(m, first, Unknown(scalar=True))
    if name == "type" and len(args) == 1 and isinstance(first, Object):
        return first.cls
    if name in ("sum", "max", "min"):
        return _fold(m, name, args, site)
    if name == "abs" and isinstance(first, Tensor):
        return tensors.method(m, first, "abs", [], {}, site)
    if name == "pow" and len(args) > 1 and isinstance(first, Tensor):
        return tensors.method(m, first, "pow", args[1:], {}, site)
    if name in (
        "int",
        "float",
        "bool",
        "str",
        "abs",
        "round",
        "pow",
        "ord",
        "hash",
        "id",
        "repr",
        "isinstance",
        "hasattr",
        "callable",
        "issubclass",
        "all",
        "any",
        "type",
        "divmod",
        "format",
        "print",
        "open",
    ):
        return _scalar(m, name, args)
    if name == "getattr" and len(args) > 1:
        return None
    return None


_CASTS: dict[str, Callable[[Any], Any]] = {"int": int, "float": float, "bool": bool, "abs": abs}


def _scalar(m: Machine, name: str, args: list[Value]) -> Value:
    values = [constant(m.see(a)) if isinstance(m.see(a), Const) else None for a in args]
    given = values[0] if len(values) == 1 else None
    number = isinstance(given, (int, float)) or (name == "int" and isinstance(given, str) and given.isdecimal())
    if name in _CASTS and number and is_small(given):
        with suppress(ValueError, OverflowError):  # int(float("nan"))
            return Const(_CASTS[name](given))
    if name == "isinstance" and len(args) == 2:
        return _isinstance(m, m.see(args[0]), m.see(args[1]))
    of_tensor = name == "hasattr" and len(args) == 2 and isinstance(m.see(args[0]), Tensor)
    if of_tensor and values[1] in facts.tensor_methods():
        return Const(True)
    if name in ("hasattr", "callable", "issubclass"):
        return m.symbol(name, *(m.see(a) for a in args), scalar=True)
    return Unknown(scalar=True)


def _isinstance(m: Machine, value: Value, cls: Value) -> Value:
    """Decided for tensors and for instances whose classes are known all the way up."""
    options = cls.items if isinstance(cls, Tuple) else (cls,)
    names = [option.name for option in options if isinstance(option, Ref)]
    if isinstance(value, Tensor) and len(names) == len(options):
        computed = m.cell(value).node is not None  # which no parameter is
        return Const("torch.Tensor" in names or ("torch.nn.Parameter" in names and not computed))
    if isinstance(value, (Tuple, List, Dict)) and len(names) == len(options):
        plain = {Tuple: "tuple", List: "list", Dict: "dict"}[type(value)]
        return Const(any(name.rpartition(".")[2].lower() == plain for name in names))
    if isinstance(value, Object):
        known = classes.lineage(value.cls)
        if any(option in known for option in options):
            return Const(True)
        if isinstance(value.cls, Ref) and all(
            name.startswith("torch.nn.") and name != "torch.nn.Module" for name in names
        ):
            return Const(False)
    return m.symbol("isinstance", value, cls, scalar=True)


def _range(args: list[Value]) -> Value:
    known = [constant(a) if isinstance(a, Const) else None for a in args]
    if args and all(isinstance(k, int) for k in known):
        try:
            return Const(range(*(int(k) for k in known if k is not None)))
        except (TypeError, ValueError):
            return Unknown(scalar=True)
    start: Value = args[0] if len(args) > 1 else Const(0)
    start = start if isinstance(start, Const) else Unknown(scalar=True)
    return Object(Ref("range"), {"start": start})


def _zip(m: Machine, name: str, args: list[Value]) -> Value:
    columns = [elements(m, arg) for arg in args[: 1 if name == "enumerate" else None]]
    if not columns:
        return List()
    exact = all(done for _, done in columns)
    count = min((len(items) for items, done in columns if done), default=2)  # the others are probably as long
    rows: list[Value] = []
    for row in range(count):
        values = [items[row] if row < len(items) else Unknown() for items, _ in columns]
        if name == "enumerate":
            number: Value = Const(row) if exact or row == 0 else Unknown(scalar=True, positive=True)
            values.insert(0, number)
        rows.append(Tuple(tuple(values)))
    rounds = List(rows, not exact)
    for source in map(m.see, args):
        if source in m.handed:
            m.handed.setdefault(rounds, []).extend(m.handed[source])
    return rounds


def iterator(m: Machine, name: str, args: list[Value]) -> Value | None:
    """Call a function of itertools; None for those that are not known."""
    if name == "repeat" and args:
        return List([args[0], args[0]], open=True)
    columns = [elements(m, arg) for arg in args]
    exact = all(done for _, done in columns)
    if name == "chain":
        return List([item for items, _ in columns for item in items], not exact)
    if name == "chain.from_iterable" and columns:
        inner = [elements(m, item) for item in columns[0][0]]
        return List([item for items, _ in inner for item in items], not (exact and all(done for _, done in inner)))
    if name == "islice" and len(args) > 1 and columns[0][1]:
        bounds = [NONE, args[1]] if len(args) == 2 else args[1:]
        known = sliced(tuple(columns[0][0]), Slice(*map(m.see, [*bounds, NONE][:3])))
        if known is not None:
            return List(known)
    if name == "product":
        rows = list(itertools.islice(itertools.product(*(items for items, _ in columns)), ELEMENTS + 1))
        return List([Tuple(row) for row in rows[:ELEMENTS]], not exact or len(rows) > ELEMENTS)
    if name == "zip_longest":
        return _zip(m, "zip", args)
    if name in ("cycle", "islice") and columns:
        part = List(columns[0][0], open=True)
        if (source := m.see(args[0])) in m.handed:
            m.handed[part] = m.handed[source]
        return part
    if name == "pairwise" and columns:
        return List([Tuple(pair) for pair in itertools.pairwise(columns[0][0])], not exact)
    return None


def _fold(m: Machine, name: str, args: list[Value], site: Site) -> Value:
    if name == "sum" and args:
        items, _ = elements(m, args[0])
        total = items[0] if items else Const(0)
        for item in items[1:]:
            total = operator(m, "add", total, item, site)
        return total
    if any(isinstance(m.see(a), Tensor) for a in args):
        return tensors.unknown_call(m, *args)
    return tensors.unknown_call(m, *args) if m.history(*args) else Unknown(scalar=True)


# -- operators

_FOLD = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "truediv": lambda a, b: a / b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
_COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
_ON_CONSTANTS = _FOLD | _COMPARE
_WIDE = re.compile(r"\d{4}")
"""What asks a format for a very long text."""


BINARY = frozenset("add sub mul truediv floordiv mod pow matmul and or xor lshift rshift eq ne lt le gt ge".split())
"""Operators of two operands, by the names that Python's methods have for them."""


def augment(m: Machine, name: str, old: Value, value: Value, site: Site, form: str = "augmented") -> Value:
    """``old += value``: in place for tensors, lists and what has a method for it, a new value for everything else."""
    old = m.see(old)
    if isinstance(old, Choice):
        return m.split([old], lambda options: augment(m, name, options[0], value, site, form))
    inplace = facts.lookup(f"Tensor.__i{name}__")
    if isinstance(old, Tensor) and inplace:  # there is no in-place matmul: `x @= y` makes a new tensor
        tensors.apply(m, inplace, [old, value], {}, site, form)
        return old
    if isinstance(old, List) and name == "add":
        extend(m, old, value)
        return old
    if isinstance(old, Dict) and name == "or":
        dict_method(m, old, "update", [value], {})
        return old
    if isinstance(old, Array):
        m.write(old.storage, "numpy", site)
        stale.shown(m, old, site)
        return old
    if isinstance(old, Unknown) and (shared := tensors.made_of(m, old)):
        m.write(shared.storage, "numpy", site)
        return old
    made = classes.special(m, old, f"__i{name}__", [value], site)
    return made if made is not None else operator(m, name, old, value, site)


def operator(m: Machine, name: str, left: Value, right: Value, site: Site) -> Value:
    """A binary operator, on tensors or on Python's values."""
    left, right = m.see(left), m.see(right)
    left, right = (Unknown(scalar=True) if isinstance(v, Array) else v for v in (left, right))
    if isinstance(left, Choice) or isinstance(right, Choice):
        return m.split([left, right], lambda v: operator(m, name, v[0], v[1], site))
    if isinstance(left, Object) or isinstance(right, Object):
        made = classes.special(m, left, f"__{name}__", [right], site)
        if made is None and name not in _COMPARE:
            made = classes.special(m, right, f"__r{name}__", [left], site)
        if made is not None:
            return made
    if isinstance(left, Tensor):
        return tensors.apply(m, facts.lookup(f"Tensor.__{name}__"), [left, right], {}, site)
    if isinstance(right, Tensor) and not isinstance(left, (List, Tuple)):
        likely = isinstance(left, Unknown) and left.likely
        operands: list[Value] = [left, right] if likely else [right, left]
        return tensors.apply(m, facts.lookup(f"Tensor.__{'' if likely else 'r'}{name}__"), operands, {}, site)
    if isinstance(left, Const) and isinstance(right, Const):
        return _of_constants(name, left.value, right.value)
    if name in _COMPARE:
        return _compare(m, name, left, right)
    if name == "add" and isinstance(left, (List, Tuple)) and isinstance(right, (List, Tuple)):
        a, b = elements_all(m, left), elements_all(m, right)
        if isinstance(left, Tuple) and isinstance(right, Tuple) and len(a[0]) + len(b[0]) <= LONGEST:
            return Tuple((*left.items, *right.items))
        return _bounded((*a[0], *b[0]), a[1] or b[1])
    if name == "or" and isinstance(left, Dict) and isinstance(right, Dict):
        one, other = m.state.get(left), m.state.get(right)
        return Dict({**one.items, **other.items}, one.open or other.open)
    if name == "mul" and isinstance(left, List):
        times = constant(right)
        contents = m.state.get(left)
        known = isinstance(times, int) and not isinstance(right, Unknown) and 0 <= times <= 16
        items = contents.items if known and times == 1 else tuple(_one_of_many(m, item) for item in contents.items)
        return _bounded(items * (times if known else 2), not known)
    return _arithmetic(m, name, left, right)


def _of_constants(name: str, left: Any, right: Any) -> Value:
    """What an operator makes of two constants, unless it makes something very large of them."""
    text = next((value for value in (left, right) if isinstance(value, (str, bytes))), None)
    times = next((value for value in (left, right) if isinstance(value, int)), 0)
    long = text is not None and ((name == "mul" and times > SIZE) or (name == "mod" and _WIDE.search(str(text))))
    if long or not is_small(left) or not is_small(right):
        return Unknown(scalar=True)
    try:
        return Const(_ON_CONSTANTS[name](left, right))
    except (KeyError, TypeError, ValueError, ArithmeticError):
        return Unknown(scalar=True)


def is_small(constant: Any) -> bool:
    """Whether something may be computed with a constant: what is made of it again and again has no end."""
    if isinstance(constant, (str, bytes)):
        return len(constant) <= SIZE
    return not isinstance(constant, int) or constant.bit_length() <= SIZE


def _one_of_many(m: Machine, item: Value) -> Value:
    """An element that a repeated list has several times: ``[x] * n``."""
    item = m.see(item)
    if not isinstance(item, Tensor):
        return item
    same = Tensor(item.storage, item.cell, item.view, item.contiguous, item.dims)
    same.origin, same.time, same.lead = item.origin, item.time, "row"
    return same


def _iterated(m: Machine, instance: Object) -> tuple[list[Value], bool]:
    """What an instance yields, as far as its class is one of the file: as for `elements`."""
    if not isinstance(instance.cls, Class):
        return [Unknown(), Unknown()], False
    site = Site(instance.cls.piece, instance.cls.node, instance.cls.node)
    made = classes.special(m, instance, "__iter__", [], site)
    if made is not None and made is not instance:
        return elements(m, made)
    if made is not None:
        rounds = [classes.special(m, instance, "__next__", [], site) for _ in range(2)]
    else:
        indices: list[Value] = [Const(0), Unknown(scalar=True)]
        rounds = [classes.special(m, instance, "__getitem__", [index], site) for index in indices]
    return [Unknown() if item is None else item for item in rounds], False


def elements_all(m: Machine, value: List | Tuple) -> tuple[tuple[Value, ...], bool]:
    if isinstance(value, Tuple):
        return value.items, False
    contents = m.state.get(value)
    return contents.items, contents.open


def _compare(m: Machine, name: str, left: Value, right: Value) -> Value:
    positive = isinstance(left, Unknown) and left.positive and isinstance(right, Const)
    if positive and isinstance(right, Const) and right.value == 0:
        return Const({"eq": False, "ne": True, "lt": False, "le": False, "gt": True, "ge": True}[name])
    text = right.value if isinstance(right, Const) else None
    if left == Ref("torch.__version__") and name in ("eq", "ne") and isinstance(text, str) and not text[:1].isdigit():
        return Const(name == "ne")  # it asks whether something else poses as torch
    if name == "ne":
        test = m.symbol("eq", left, right, scalar=True)
        return Condition(frozenset({(test, False)}), frozenset({(test, True)}))
    sides = (left, right)  # of which one may be a tensor, and what comes out a mask: `mask == 0`, not `mode == "train"`
    text = any(isinstance(side, Const) and not is_number(side) for side in sides)
    mask = not text and any(isinstance(side, Unknown) and not side.scalar for side in sides)
    return m.symbol(name, left, right, scalar=not mask)


def _arithmetic(m: Machine, name: str, left: Value, right: Value) -> Value:
    """An operator on values that are not known to be tensors."""
    scalar = all(isinstance(v, Const) or (isinstance(v, Unknown) and v.scalar) for v in (left, right))
    if scalar:
        positive = name == "add" and isinstance(left, Unknown) and left.positive and isinstance(constant(right), int)
        value = m.symbol(name, left, right, scalar=True)
        value.positive = bool(positive and constant(right) >= 0)
        return value
    unknowns = [v for v in (left, right) if isinstance(v, Unknown)]
    if not unknowns:
        return Unknown()
    grad = max((v.grad for v in unknowns), default=Grad.NO)
    nodes = m.history(left, right)
    if not nodes:
        return m.symbol(name, left, right, grad=grad)
    return tensors.unknown_call(m, left, right)
