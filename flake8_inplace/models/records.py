"""Dictionaries, named tuples and copies of values."""

from __future__ import annotations

from ..heap.join import choose
from ..heap.values import (
    ITEMS,
    NONE,
    Array,
    Attributes,
    Cell,
    Choice,
    Const,
    Dict,
    Items,
    List,
    Object,
    Tensor,
    Tuple,
    Unknown,
    Value,
)
from ..trace import events
from ..trace.trace import MODULES, Trace
from . import arrays, lazy, tensors
from .lineage import NAMED_TUPLE, PACKED, fields, inherits


def dictionary(m: Trace, args: list[Value], kwargs: dict[str, Value]) -> Dict:
    """``dict(...)``, of another dictionary or of pairs."""
    given = entries(m, args[0]) if args else Attributes({})
    made = Dict({**given.items, **kwargs}, given.open)
    for key, value in kwargs.items():
        events.store_key(m, made, key, value)
        events.store(m, made, value)
    events.pass_on(m, args[0] if args else NONE, made, given.items.values())
    if args and isinstance(source := m.see(args[0]), Dict):
        events.copied(m, source, made, False)
    return made


def entries(m: Trace, value: Value) -> Attributes:
    """What a value holds that is used as a dictionary."""
    value = m.see(value)
    if isinstance(value, Object):
        value = m.see(m.state.get(value).items.get(ITEMS, NONE))
    if isinstance(value, Dict):
        return m.state.get(value)
    if not isinstance(value, (List, Tuple)):
        return Attributes({}, open=True)
    contents = m.state.get(value) if isinstance(value, List) else Items(value.items)
    rows = [_as_row(m, item) for item in contents.items]
    pairs = [row.items for row in rows if isinstance(row, Tuple) and len(row.items) == 2]
    held = {key.value if isinstance(key, Const) else key: item for key, item in pairs}
    return Attributes(held, contents.open or len(pairs) < len(contents.items))


def _as_row(m: Trace, value: Value) -> Value:
    """A pair, which may be spelled as a list."""
    value = m.see(value)
    return Tuple(m.state.get(value).items) if isinstance(value, List) and not m.state.get(value).open else value


def replaced(m: Trace, value: Value, changes: dict[str, Value]) -> Value:
    """A copy of an instance with some attributes changed: ``dataclasses.replace``, ``_replace``."""
    value = m.see(value)
    if not isinstance(value, Object):
        return Unknown()
    made = Object(value.cls, {**m.state.get(value).items, **changes})
    made.time = m.tick()
    events.copied(m, value, made, True)
    return made


def packed(m: Trace, data: Value) -> Object:
    """A PackedSequence over the memory of ``data``."""
    rest = ("batch_sizes", "sorted_indices", "unsorted_indices")
    return Object(PACKED, {"data": data, **{name: Unknown() for name in rest}})


def as_tuple(m: Trace, value: Value) -> Value:
    """A named tuple as the tuple that it is; anything else as it was."""
    if isinstance(value, Object) and inherits(value.cls, PACKED.name):
        return Tuple(tuple(m.state.get(value).items.values()))
    if isinstance(value, Object) and inherits(value.cls, NAMED_TUPLE.name):
        contents = m.state.get(value).items
        return Tuple(tuple(contents.get(name, Unknown()) for name in fields(value.cls)))
    lazy.read(m, value)
    return value


def as_list(m: Trace, value: Value) -> Value:
    value = m.see(value)
    lazy.read(m, value)
    if isinstance(value, List):
        made = List(m.state.get(value).items, m.state.get(value).open, m.clock)
        events.copied(m, value, made, False)
        return made
    if isinstance(value, Tuple):
        return List(value.items, time=m.clock)
    if isinstance(value, Dict):
        contents = m.state.get(value)
        return List(contents.items.values(), contents.open)
    return List([Unknown(), Unknown()], open=True) if isinstance(value, Unknown) else List()


def copied(m: Trace, value: Value, memo: dict[Value, Value]) -> Value:
    """``copy.deepcopy``: memory of its own for every tensor, the same structure; what holds itself does so again."""
    value = m.see(value)
    if value in memo:
        return memo[value]
    if isinstance(value, Choice):
        options = [(guard, copied(m, option, memo)) for guard, option in value.options]
        return choose(options, partial=len(options) == 1)
    if isinstance(value, Unknown) and not value.scalar:
        memo[value] = Unknown()
        if value in m.state[MODULES]:
            m.state.set(m.state[MODULES], memo[value], True)
    elif isinstance(value, Tensor):
        memo[value] = Tensor(cell=Cell(m.grad(value), leaf=m.cell(value).leaf))
    elif isinstance(value, Array):
        memo[value] = arrays.new(m, "copy", (value,), value.tensor.dims)
    elif isinstance(value, Tuple):
        memo[value] = Tuple(tuple(copied(m, item, memo) for item in value.items))
    elif isinstance(value, List):
        twin = memo[value] = List()
        contents = m.state.get(value)
        twin.initial = Items(tuple(copied(m, item, memo) for item in contents.items), contents.open)
    elif isinstance(value, (Dict, Object)):
        same = memo[value] = Dict() if isinstance(value, Dict) else Object(value.cls)
        same.initial = Attributes({key: copied(m, item, memo) for key, item in m.state.get(value).items.items()})
    return memo.get(value, value)


def shallow(m: Trace, value: Value) -> Value:
    """``copy.copy``: another container, or another instance, of the same things; of an array, its elements."""
    value = m.see(value)
    if isinstance(value, Array):
        return arrays.new(m, "copy", (value,), value.tensor.dims)
    if isinstance(value, List):
        contents = m.state.get(value)
        made = List(contents.items, contents.open)
        events.pass_on(m, value, made, contents.items)
        events.copied(m, value, made, True)
        return made
    if isinstance(value, (Dict, Object)):
        twin = Dict(time=value.time) if isinstance(value, Dict) else Object(value.cls)
        twin.initial = m.state.get(value)
        if isinstance(twin, Dict):
            events.pass_on(m, value, twin, twin.initial.items.values())
        events.copied(m, value, twin, True)
        return twin
    return value if isinstance(value, (Tuple, Const)) else tensors.unknown_call(m, value)
