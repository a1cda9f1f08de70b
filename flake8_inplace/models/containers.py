"""Lists and dictionaries."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

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
from ..trace.trace import Trace
from . import records
from .iteration import LONGEST, another, collected, elements, key_of


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
        taken = set(contents.picked.values())
        free = [where for where in range(size) if where not in taken]
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
        return _item_of_tuple(value, index)
    if isinstance(value, List):
        return _item_of_list(m, value, index)
    if isinstance(value, Dict):
        if isinstance(index, Choice):
            return m.split([index], lambda keys: get_item(m, value, keys[0]))
        return _item_of_dict(m, value, index)
    if isinstance(value, Const) and isinstance(value.value, str):
        return _part_of_text(value.value, index)
    return _item_of_unknown(m, value, index) if isinstance(value, Unknown) else Unknown()


def _part_of_text(text: str, index: Value) -> Value:
    """A character of a known string, or a slice of it. No part of a string is a tensor."""
    fixed = key_of(index)
    if isinstance(fixed, int) and -len(text) <= fixed < len(text):
        return Const(text[fixed])
    part = sliced(tuple(map(Const, text)), index) if isinstance(index, Slice) else None
    return Const("".join(str(constant(each)) for each in part)) if part is not None else Unknown(scalar=True)


def _item_of_tuple(value: Tuple, index: Value) -> Value:
    fixed = key_of(index)
    if isinstance(fixed, int) and -len(value.items) <= fixed < len(value.items):
        return value.items[fixed]
    if isinstance(index, Slice):
        part = sliced(value.items, index)
        return Tuple(part) if part is not None else List(value.items, open=True)
    return Unknown()


def _item_of_list(m: Trace, value: List, index: Value) -> Value:
    contents: Items = m.state.get(value)
    if isinstance(index, Slice):
        part = None if contents.open else sliced(contents.items, index)
        taken = List(_from(m, contents.items, index), open=True) if part is None else List(part)
        m.numbers.slice(taken, value, index)
        events.pass_on(m, value, taken, m.state.get(taken).items)
        events.copied(m, value, taken, True)
        return taken
    where = position(m, value, index)
    if where is None:
        return Unknown()
    found = m.see(contents.items[where])
    events.take(m, value, found)
    if not m.unread:
        events.load(m, value, found, True)
    return contents.items[where]


def read_key(m: Trace, value: Dict, key: Hashable) -> Value:
    """The value under a key that a dictionary has."""
    found: Value = m.state.get(value).items[key]
    events.take(m, value, m.see(found))
    if not m.unread:
        events.load_key(m, value, key, m.see(found))
        events.load(m, value, m.see(found), True)
    return found


def _item_of_dict(m: Trace, value: Dict, index: Value) -> Value:
    table: Attributes = m.state.get(value)
    key = key_of(index)
    if key is not None or index == NONE:
        if key in table.items:
            return read_key(m, value, key)
        if value.factory is None:
            return m.symbol(value, "[]", key) if table.open else Unknown()
        return _missing(m, value, index)
    if not isinstance(index, Unknown):
        return Unknown()
    if not isinstance(table.items.get(index, index), Unknown):
        return read_key(m, value, index)
    return _any_callable(m, value, index) if value.factory is None else _missing(m, value, index)


def _item_of_unknown(m: Trace, value: Unknown, index: Value) -> Value:
    part = _part_of_unknown(m, value, index)
    if isinstance(index, Slice) and isinstance(part, Unknown):
        m.numbers.slice(part, value, index)
    return part


def _part_of_unknown(m: Trace, value: Unknown, index: Value) -> Value:
    if value.scalar:
        return m.symbol(value, "[]", index, scalar=True)
    key = key_of(index)
    if (value, "[]", key) in m.state.store:
        return m.see(m.state.store[value, "[]", key])
    if isinstance(index, Unknown) or (isinstance(index, Const) and key is not None):
        element = m.part(value, "[]", index)
        if not m.unread:
            events.read_part(m, m.see(element))
        return element
    return Unknown(part_grad(value), value.node)


def _missing(m: Trace, value: Dict, index: Value) -> Value:
    """What a defaultdict makes for a key that it has not."""
    factory = value.factory
    if isinstance(factory, Function):
        made = m.run(factory, [], {}, Site(factory.piece, factory.node, factory.node))
    elif factory in (Ref("builtins.list"), Ref("builtins.dict")):
        open = m.state.get(value).open  # it may have the key, and something under it
        made = List(open=open) if factory == Ref("builtins.list") else Dict(open=open)
    else:
        return Unknown(scalar=factory in (Ref("builtins.int"), Ref("builtins.float")))
    set_item(m, value, index, made)
    return made


def _from(m: Trace, items: tuple[Value, ...], index: Slice) -> tuple[Value, ...]:
    """Some elements of a list of unknown length; not the first one first, where a slice begins later.

    Behind a known place, the first one is none of them: another one like it stands for those that a loop adds.
    """
    if index.lower in (NONE, Const(0)):
        return items
    number, first, rest = constant(index.lower), items[:1], items[1:]
    behind = type(number) is int and number > 0 and index.step in (NONE, Const(1))
    if behind and rest and first[0] not in rest:
        first = (another(m, first[0]),)
    return (*rest, *first)


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
            events.hand_over(m, items)
            replaced = with_slice(contents, index, items) if exact and not contents.open else None
            m.state.put(value, replaced or Items((*contents.items, *items), True))
            return
        where = position(m, value, index)
        contents = m.state.get(value)
        if where is not None:
            events.replace(m, value, where, new)
            events.store(m, value, new)
            changed, others = list(contents.items), frozenset(contents.picked.values())
            changed[where] = new
            if isinstance(index, Unknown) and index in m.numbers.last:  # the loop comes to those that follow, too
                for at in range(where + 1, len(changed)):
                    changed[at] = changed[at] if at in others else another(m, new)
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
            events.hand_over(m, (new,))
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


def append(m: Trace, value: List, item: Value) -> None:
    contents: Items = m.state.get(value)
    events.append(m, value, item)
    m.state.put(value, Items((*contents.items, item), contents.open))


def pop(m: Trace, value: List, index: object, used: bool = True) -> Value:
    """Take an element out of a list. ``used``: it is read, and not only removed."""
    contents: Items = m.state.get(value)
    if not isinstance(index, int) or not -len(contents.items) <= index < len(contents.items):
        return Unknown()
    left = list(contents.items)
    taken = left.pop(index)
    if used:
        events.load(m, value, m.see(taken), True)
    m.state.put(value, Items(tuple(left), contents.open))
    return taken


def clear(m: Trace, value: List) -> None:
    for item in m.state.get(value).items:
        events.remove(m, value, item)
    m.state.put(value, Items(()))


def extend(m: Trace, value: List, more: Value) -> None:
    contents: Items = m.state.get(value)
    items, exact = collected(m, more)
    for item in items:
        events.append(m, value, item)
    whole = bounded((*contents.items, *items), contents.open or not exact)
    m.state.put(value, whole.initial)


def update(m: Trace, value: Dict, more: Value, named: Mapping[str, Value]) -> None:
    """``value.update(more, **named)``."""
    contents: Attributes = m.state.get(value)
    other = records.entries(m, more)
    for key, item in {**other.items, **named}.items():
        events.store_key(m, value, key, item)
        events.store(m, value, item)
    m.state.put(value, Attributes({**contents.items, **other.items, **named}, contents.open or other.open))


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
        pop(m, value, constant(index), used=False)


def open_grown(m: Trace, mark: int) -> None:
    """Note that the lists that a loop has made longer since ``mark`` may hold more: not each iteration was read.

    What has one element on this path, of a layer that only one name of a configuration asks for, may have no other.
    """
    before: dict[List, object] = {}
    for _, key, old in m.state.journal[mark:]:
        if isinstance(key, List):
            before.setdefault(key, old)
    for grown, old in before.items():
        contents, had = m.state.get(grown), old if isinstance(old, Items) else grown.initial
        if len(contents.items) > max(len(had.items), 1) and not contents.open:
            m.state.put(grown, Items(contents.items, True, contents.picked))
