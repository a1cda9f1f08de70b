"""Iteration and unpacking."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress

from ..heap.join import choose
from ..heap.state import Declared, same_or_none
from ..heap.values import (
    ITEMS,
    Array,
    Cell,
    Choice,
    Const,
    Dict,
    Guard,
    Items,
    List,
    Object,
    Ref,
    Region,
    Tensor,
    Tuple,
    Unknown,
    Value,
    View,
    constant,
    is_number,
    part_grad,
)
from ..program.site import Site
from ..trace import events
from ..trace.frames import Class
from ..trace.log import COPIED, STORED, WRITES
from ..trace.trace import Trace
from . import arrays, classes, frames, lazy, lineage, loaders, records, tensors

UNROLL = 4
"""Loops over this many known numbers or fewer are read once a number; all others twice."""
UNROLL_OTHERS = 16
"""The same for everything else: modules, tensors, rows of a configuration."""
LONGEST = 1024
"""The most elements of a list that are kept."""
ELEMENTS = 64
"""The most elements of one value that are told apart."""
GIVEN = "given"
"""What a progress bar has of the iterable that it goes through."""
ZIPPED: Declared[List, tuple[Value, ...] | None] = Declared(same_or_none)
"""The arguments of the ``zip`` that made a list."""
VIEWED: Declared[List, Dict | None] = Declared(same_or_none)
"""The dictionary whose values or items a list stands for."""


def elements(m: Trace, value: Value) -> tuple[list[Value], bool]:
    """The elements that iteration over a value yields, and whether these are all of them.

    Where the length is unknown two elements stand for all.
    """
    value = records.as_tuple(m, m.see(value))
    if isinstance(value, Choice):
        return _either(m, value)
    if isinstance(value, Tuple):
        return list(value.items[:ELEMENTS]), len(value.items) <= ELEMENTS
    if isinstance(value, List):
        contents = m.state.get(value)
        noted = any(len(table) for table in (m.state[STORED], m.state[WRITES], m.state[COPIED]))
        for item in contents.items if noted else ():
            events.load(m, value, m.see(item), True)
        if contents.open:
            items = list(contents.items[:ELEMENTS])
            while len(items) < 2:
                items.append(another(m, items[0]) if items else Unknown())
            return items, False
        return list(contents.items[:ELEMENTS]), len(contents.items) <= ELEMENTS
    if isinstance(value, Dict):
        table = m.state.get(value)
        keys = list(map(spelled, table.items))
        if table.open:  # what keys there are besides is not known
            return [*keys[:ELEMENTS], Unknown(), Unknown()][: max(len(keys), 2)], False
        return keys[:ELEMENTS], len(keys) <= ELEMENTS
    if isinstance(value, Tensor):
        return [tensors.element(m, value), tensors.element(m, value)], False
    if isinstance(value, Array):
        return [Unknown(), Unknown()] if frames.is_frame(value) else arrays.rows(m, value), False
    if isinstance(value, Const) and isinstance(value.value, (range, str)):
        return [Const(item) for item in value.value[:ELEMENTS]], not value.value[ELEMENTS:]
    if isinstance(value, Object):
        name = value.cls.name if isinstance(value.cls, Ref) else ""
        attributes = m.state.get(value).items
        if name == "range":
            return [attributes["start"], counter(m, attributes["stop"])], False
        if ITEMS in attributes:
            return elements(m, attributes[ITEMS])
        return _iterated(m, value)
    if isinstance(value, Unknown):
        if isinstance(value.default, Const) and isinstance(value.default.value, str):
            return elements(m, value.default)  # two unknown letters of an option are no text that anybody gives
        return [unknown_part(value), unknown_part(value)], False
    return [Unknown(), Unknown()], False


def present(m: Trace, source: Value, at: int, item: Value) -> Value:
    """Return the element that a loop over a list or dictionary comes to, which its body may have replaced."""
    viewed = m.state[VIEWED].get(source) if isinstance(source, List) else None
    if viewed is not None and at < len(values := [*m.state.get(viewed).items.values()]):
        return Tuple((item.items[0], values[at])) if isinstance(item, Tuple) else values[at]
    if not isinstance(source, List) or viewed is not None or at >= len(held := m.state.get(source).items):
        return item
    return held[at]


def _either(m: Trace, value: Choice) -> tuple[list[Value], bool]:
    """Iteration over one of several values: place by place one of their elements."""
    rows = [(guard, *elements(m, option)) for guard, option in value.options if m.state.possible(guard)]
    longest = max((len(items) for _, items, _ in rows), default=0)
    columns = []
    for i in range(longest):
        options = [(guard, items[i]) for guard, items, _ in rows if i < len(items)]
        columns.append(choose(options, partial=len(options) < len(rows)))
    return columns, all(done and len(items) == longest for _, items, done in rows)


def following(m: Trace, value: Value, site: Site, default: Value | None = None) -> Value:
    """What ``next(value, default)`` returns: the first element that the iterator still has.

    A generator that nothing has read yet runs up to its first ``yield``, and is taken to yield the same again.
    """
    stepped = classes.special(m, value, "__next__", [], site)
    if stepped is not None:
        return stepped
    body = lazy.suspended(m, value)
    items = lazy.start(m, value, body) if body is not None and isinstance(value, List) else elements(m, value)[0]
    if isinstance(value, List) and items and not lazy.is_generator(m, value):
        contents = m.state.get(value)
        left = contents.items[1:] or ((another(m, items[0]),) if contents.open else ())
        m.state.put(value, Items(left, contents.open))
    return items[0] if items else default or Unknown()


def few(m: Trace, items: list[Value], exact: bool, configures: bool) -> tuple[list[Value], bool]:
    """The elements that a loop is read with: all of a short list, two of a long one.

    A loop that ``configures`` modules is read with all of them. Of many tensors those come first that something saved.
    Of many numbers the second stands for all that follow.
    """
    numbers = all(isinstance(item, Const) and type(item.value) is int for item in items)
    modules = configures and all(isinstance(_last(m, item), Object) for item in items)
    if len(items) <= (UNROLL if numbers else ELEMENTS if modules else UNROLL_OTHERS):
        return items, exact
    if numbers or all(isinstance(item, Tuple) for item in items):
        return [items[0], _after_first(m, items[0], items[1], items[-1], exact)], False
    return sorted(items, key=lambda item: not (isinstance(item, Tensor) and m.state.get(item.storage)))[:2], False


def _after_first(m: Trace, first: Value, second: Value, last: Value, exact: bool) -> Value:
    """The element that stands for all but the first one: of numbers, and numbers in rows, any of them."""
    if isinstance(first, Tuple) and isinstance(second, Tuple) and isinstance(last, Tuple):
        columns = zip(first.items, second.items, last.items, strict=False)
        return Tuple(tuple(_after_first(m, *column, exact) for column in columns))
    start, following, end = constant(first), constant(second), constant(last)
    if not (type(start) is type(following) is type(end) is int) or start == following:
        return second
    number = counter(m, *([Const(end + 1)] if exact and start < following else []))
    number.positive = 0 <= start < following
    return number


def counter(m: Trace, *lengths: Value) -> Unknown:
    """A number in a later iteration of a loop that ends with the shortest of these lengths."""
    number = Unknown(scalar=True, positive=True)
    m.numbers.count(number, lengths)
    return number


def lengths(m: Trace, value: Value) -> list[Value]:
    """The length of a value; of what ``zip`` made, those of its arguments."""
    value = m.see(value)
    zipped = m.state[ZIPPED].get(value) if isinstance(value, List) else None
    return [length(m, value)] if zipped is None else [length(m, each) for each in zipped]


def at_end(m: Trace, item: Value) -> Guard:
    """What is known after the last iteration of a loop, which began with ``item``."""
    return m.numbers.at_end(_unknowns(m, item))


def before(m: Trace, item: Value, following: Value) -> Guard:
    """What is known after an iteration that began with ``item``, if one follows that begins with ``following``."""
    first, known = constant(m.see(item)), m.numbers.before_end(_unknowns(m, item))
    if type(first) is int and first < 0:  # ``range(-3, n)`` has a second element whether or not n is positive
        return known
    return known | m.numbers.at_second(_unknowns(m, following))


def _unknowns(m: Trace, item: Value) -> list[Unknown]:
    """The unknown values in what a loop is given: ``i`` and ``x`` of ``enumerate``."""
    item = m.see(item)
    if isinstance(item, Tuple):
        return [each for part in item.items for each in _unknowns(m, part)]
    return [item] if isinstance(item, Unknown) else []


def _last(m: Trace, item: Value) -> Value:
    """The module of what ``named_modules()`` yields: a name and a module."""
    item = m.see(item)
    return m.see(item.items[-1]) if isinstance(item, Tuple) and item.items else item


def another(m: Trace, item: Value) -> Value:
    """What one more round of a loop would see after ``item``: a value like it, with memory of its own.

    After a part of a tensor comes another part of it.
    """
    item = m.see(item)
    if isinstance(item, Tuple):
        return Tuple(tuple(another(m, part) for part in item.items))
    if isinstance(item, Unknown) and item in m.numbers.last:
        return m.numbers.another(item)
    if isinstance(item, Tensor) and item.view is not View.NONE:
        return _next_part(m, item)
    if isinstance(item, Tensor):
        state = m.cell(item)
        return Tensor(cell=Cell(state.grad, state.node, state.leaf), dims=item.dims)
    return item


def unknown_part(value: Unknown) -> Unknown:
    """An element or attribute of an unknown value."""
    return Unknown(part_grad(value), value.node, scalar=value.scalar, likely=value.likely)


def length(m: Trace, value: Value) -> Value:
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
    if isinstance(value, Dict):  # its length changes: an optimizer fills the state of a parameter in its first step
        table = m.state.get(value)
        known = bool(table.items) and table.open
        return Unknown(scalar=True, positive=True) if known else m.symbol("len", value, tuple(table.items), scalar=True)
    made = m.symbol("len", value if isinstance(value, Hashable) else id(value), scalar=True)
    if isinstance(value, (Unknown, List)) and value in m.numbers.slices:
        whole, longer = m.numbers.slices[value]
        m.numbers.add(made, length(m, whole), Const(longer), 1)
    return made


def unpack(m: Trace, value: Value, count: int, star: int | None = None) -> list[Value]:
    """The values that ``a, b, *c = value`` binds."""
    whole = m.see(value)
    value = records.as_tuple(m, whole)
    if isinstance(whole, Object) and value is not whole:
        for name, item in m.state.get(whole).items.items():
            events.read_attribute(m, whole, name, m.see(item))
    if isinstance(value, Choice):
        columns = [unpack(m, option, count, star) for guard, option in value.options if m.state.possible(guard)]
        guards = [guard for guard, option in value.options if m.state.possible(guard)]
        return [choose(list(zip(guards, column, strict=True))) for column in zip(*columns, strict=True)]
    if isinstance(value, Tuple) or (isinstance(value, List) and not m.state.get(value).open):
        return _unpack_all(elements_all(m, value)[0], count, star)
    if isinstance(value, List):
        return _unpack_open(m, value, count)
    if isinstance(value, Object):
        found, exact = elements(m, value)
        return unpack(m, List(found, not exact), count, star)
    if isinstance(value, Tensor):
        return [tensors.element(m, value, index) for index in range(count)]
    if isinstance(value, Array):
        return arrays.rows(m, value, count)
    if isinstance(value, Unknown) and not value.scalar:
        return [m.part(value, "[]", index) for index in range(count)]
    return [Unknown(scalar=isinstance(value, Unknown)) for _ in range(count)]


def _unpack_all(items: tuple[Value, ...], count: int, star: int | None) -> list[Value]:
    if star is not None and len(items) >= count - 1:
        tail = len(items) - (count - 1 - star)
        return [*items[:star], List(items[star:tail]), *items[tail:]]
    return list(items) if len(items) == count else [Unknown() for _ in range(count)]


def _unpack_open(m: Trace, value: List, count: int) -> list[Value]:
    """Of a list of unknown length: elements like the last known one follow it."""
    items = list(m.state.get(value).items)
    while items and len(items) < count:
        last = m.see(items[-1])
        if isinstance(last, Tensor):
            items.append(another(m, last) if last.view is View.NONE else _next_part(m, last))
        else:
            items.append(_part_of(last))
    return items[:count] if items else [Unknown() for _ in range(count)]


def _next_part(m: Trace, last: Tensor) -> Tensor:
    """Another one of the parts that a tensor is divided into: after ``x[1]`` comes ``x[2]``."""
    part = tensors.view(m, last, last.view)
    if last.region is not None:
        index = last.region.index
        following = tuple(Const(i.value + 1) if isinstance(i, Const) and is_number(i) else i for i in index)
        part.region = Region(last.region.base, following, m.clock) if following != index else None
    return part


def _part_of(value: Value) -> Value:
    return unknown_part(value) if isinstance(value, Unknown) else Unknown()


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


def iterator(m: Trace, value: Value, site: Site | None = None) -> Value:
    """Return what the ``__iter__`` of an instance of the program returns, and what a progress bar goes through.

    Any other value is returned as it is. Where ``__next__`` or ``__getitem__`` makes the elements, that is a generator
    of what two calls return. ``site`` is where it is called, the class by default.
    """
    value = m.see(value)
    if not isinstance(value, Object):
        return value
    if not isinstance(value.cls, Class):
        given = m.state.get(value).items.get(GIVEN)
        return value if given is None else iterator(m, given, site)
    site = site or Site(value.cls.piece, value.cls.node, value.cls.node)
    made = classes.special(m, value, "__iter__", [], site)
    if made is None and lineage.member(value.cls, "__getitem__") is not None:
        return _by_calls(m, value, "__getitem__", [[Const(0)], [Unknown(scalar=True)]], site)
    made = value if made is None else m.see(made)
    stepwise = isinstance(made, Object) and isinstance(made.cls, Class) and lineage.member(made.cls, "__next__")
    return _by_calls(m, made, "__next__", [[], []], site) if stepwise and isinstance(made, Object) else made


def _by_calls(m: Trace, owner: Object, method: str, rounds: list[list[Value]], site: Site) -> List:
    """A generator that yields what a method returns for each of these arguments."""

    def body(resume: Callable[[Value], None], once: bool) -> None:
        for args in rounds[:1] if once else rounds:
            resume(classes.special(m, owner, method, args, site) or Unknown())

    return lazy.generator(m, body, [owner])


def collected(m: Trace, value: Value) -> tuple[list[Value], bool]:
    """The elements of a value that is read to its end before one of them is used: ``list(x)``, ``f(*x)``."""
    source = iterator(m, value)
    lazy.read(m, source)
    items, exact = elements(m, source)
    events.collect(m, source, items, -1)
    return items, exact


def _iterated(m: Trace, instance: Object) -> tuple[list[Value], bool]:
    """What an instance yields, as far as its class is one of the file: as for `elements`."""
    if not isinstance(instance.cls, Class):
        return [loaders.yielded(m, instance) or Unknown() for _ in range(2)], False
    made = iterator(m, instance)
    if made is instance:
        return [Unknown(), Unknown()], False
    lazy.read(m, made)
    return elements(m, made)


def elements_all(m: Trace, value: List | Tuple) -> tuple[tuple[Value, ...], bool]:
    if isinstance(value, Tuple):
        return value.items, False
    lazy.read(m, value)
    contents = m.state.get(value)
    return contents.items, contents.open
