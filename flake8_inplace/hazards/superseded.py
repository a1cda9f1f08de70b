"""Containers that a function overwrote an element of, and returned a new version of: the old one shows the new values.

``x = batch["x"]``, ``x += noise`` and ``return {**batch, "x": x}`` makes a dictionary that takes the place of
``batch``. A caller that goes on with the old one wants the values that it had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..heap.state import Declared, latest
from ..heap.values import NONE, Dict, List, Object, Tensor, Tuple, Value
from ..trace import events
from ..trace.log import WRITES, Overwrite, array_backing, direct_tensors, is_record, since, spelled
from ..trace.trace import Trace
from .intent import attribute_written

SUPERSEDED: Declared[tuple[Overwrite, Value], int] = Declared(latest)
"""When a function returned a new version of a dictionary or record, by a write to a tensor in it and the old one."""


@events.returns.listen
def on_return(m: Trace, args: Sequence[Value], result: Value, born: int, used: bool) -> None:
    """Note the writes to tensors of an argument that the result has in the same places."""
    if not used or not m.state[WRITES]:
        return
    outcome = m.see(result)
    for new in map(m.see, outcome.items if isinstance(outcome, Tuple) else (outcome,)):
        for old in map(m.see, args):
            for event in _replaced(m, old, new, born) if old is not new else ():
                m.state.set(m.state[SUPERSEDED], (event, old), m.tick())


def _replaced(m: Trace, old: Value, new: Value, born: int) -> list[Overwrite]:
    """Return the writes of a call to tensors that an old version and the new one have in the same place."""
    had, has = _entries(m, old), _entries(m, new)
    if isinstance(old, Object) and isinstance(new, Object):
        alike = old.cls is new.cls
    else:
        alike = isinstance(old, Dict) and isinstance(new, Dict) and had.keys() <= has.keys()
    shared = [key for key, value in had.items() if m.see(has.get(key, NONE)) is m.see(value)] if alike else []
    tensors = [array_backing(m.see(had[key])) for key in shared]
    found = [event for tensor in tensors if isinstance(tensor, Tensor) for event in since(m, tensor, born)]
    return [event for event in found if _is_by_name(m, event)]


def _entries(m: Trace, value: Value) -> Mapping[Any, Value]:
    if isinstance(value, Dict) or (isinstance(value, Object) and is_record(value)):
        found: Mapping[Any, Value] = m.state.get(value).items
        return found
    return {}


def _is_by_name(m: Trace, event: Overwrite) -> bool:
    """Whether a write is spelled with a variable for the tensor. ``state["x"] += 1`` is meant to change the state."""
    by = spelled(m, event)
    return bool(event.name) and not isinstance(by, (Dict, List, Object)) and not attribute_written(event)


@events.load.listen
def on_load(m: Trace, container: List | Dict, value: Value, known: bool) -> None:
    """Judge the read of an element of an old dictionary."""
    _judge(m, container, value)


@events.read_attribute.listen
def on_read_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Judge the read of a field of an old record."""
    _judge(m, instance, value)


def _judge(m: Trace, old: Value, value: Value) -> None:
    if not m.state[SUPERSEDED] or not m.stack.frames:
        return
    for tensor in direct_tensors(m, value):
        for event in since(m, tensor, 0):
            if (event, old) in m.state[SUPERSEDED] and m.stack.frames[-1] is not event.frames[-1]:
                m.refuse("argument", event.site, guard=event.guard)
