"""Stale reads through two keys: a dictionary has a tensor under another key too, and one of them shows the write."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from ..heap.state import Declared, latest, same_or_none
from ..heap.values import NONE, Dict, Source, Tensor, Value
from ..program.site import Site
from ..trace import events
from ..trace.log import STORED, WRITES, Change, Overwrite, array_backing, since, spelled
from ..trace.trace import Trace
from .changes import is_parameter
from .contained import entries, is_same, judge_element, judge_snapshots, on_store, surely_changes
from .intent import is_spelled_otherwise
from .known import writes_the_same
from .taken_out import MOVABLE

if TYPE_CHECKING:
    import libcst as cst

KEYED: Declared[tuple[Dict, Hashable], int] = Declared(latest)
"""When a dictionary got the tensor that it has under a key."""
PAIRED: Declared[Tensor, tuple[Dict, int, Site | None] | None] = Declared(same_or_none)
"""A dictionary that has two keys for a tensor, and when and where it got the second one."""

ASKED: Declared[tuple[Dict, Tensor], tuple[cst.CSTNode | None, Hashable] | None] = Declared(same_or_none)
"""The key that a dictionary was last asked by for a tensor of two keys, and the statement."""
BY_KEY: Declared[tuple[Dict, Tensor], tuple[Hashable, Overwrite] | None] = Declared(same_or_none)
"""The last write to all of a tensor of two keys, and the key that the statement has asked by."""


@events.store_key.listen
def on_store_key(m: Trace, container: Dict, key: Hashable, value: Value) -> None:
    """Report a tensor that gets a second key in a dictionary after it was overwritten: both keys show it.

    So does a tensor in a record: ``table[epoch] = {"weight": weight}``.
    """
    value = array_backing(m.see(value))
    found = [(place, array_backing(m.see(item))) for place, item in entries(m, value).items()]
    parts = [(place, part) for place, part in found if isinstance(part, Tensor)]
    if not parts or not m.stack.frames:
        return
    held = m.state.get(container).items
    neighbours = [array_backing(m.see(item)) for name, item in held.items() if name != key]
    if not isinstance(value, Tensor) and any(item is value for item in neighbours):
        return  # a record that changes its key
    others = [entries(m, item) for item in neighbours]
    for place, part in parts:
        beside = [array_backing(other.get(place, NONE)) for other in others]
        judge_snapshots(m, beside, (), part)
        if place:
            if (container, part.storage) in m.state[STORED] and any(is_same(m, other, part) for other in beside):
                _judge_second_key(m, container, part, False)
            on_store(m, container, part)
            continue
        m.state.set(m.state[KEYED], (container, key), m.tick())
        if any(is_same(m, other, part) for other in beside) and not _is_written_here(m, part):
            m.state.set(m.state[PAIRED], part, (container, m.tick(), m.here()))
            _judge_second_key(m, container, part, array_backing(m.see(held.get(key, NONE))) is part)


def _is_written_here(m: Trace, value: Tensor) -> bool:
    """Whether the running statement wrote what it stores, and so says it all: ``d["root"] = d["square"].sqrt_()``."""
    frame = m.stack.frames[-1]
    return any(event.line is frame.line and event.frames[-1] is frame for event in since(m, value, frame.born))


def _judge_second_key(m: Trace, container: Dict, value: Tensor, had: bool) -> None:
    """Report the writes to a tensor since a dictionary got it under another key. ``had``: it had it under this key.

    What was read out of the dictionary after a write may change its key: ``d["a"], d["b"] = d["b"], d["a"]``.
    """
    if container in m.state[MOVABLE].get(value.storage, frozenset()):
        return
    had_since = abs(m.state[STORED].get((container, value.storage), 0)) or m.stack.frames[-1].born
    for event in since(m, value, had_since):
        meant = not had and spelled(m, event) is container  # ``table["x"].mul_(2)``
        if not meant and surely_changes(value, event):
            m.refuse("read", event.site, guard=event.guard)


@events.logged.listen
def on_logged(m: Trace, event: Overwrite) -> None:
    """Report a part that is overwritten by one of two keys that a dictionary has for a tensor: both show it.

    So does a variable that was bound to the tensor later: ``ids = batch["ids"]``, ``ids[mask] = 0``. A write to the
    whole tensor is reported if the other key was used to write other values.
    """
    pair = m.state[PAIRED].get(event.tensor)
    if pair is None:
        return
    container = spelled(m, event)
    if event.name and event.frames[-1].bound(event.name) > pair[1]:
        container = pair[0]
    if not isinstance(container, Dict):
        return
    part = event.written.index is not None or event.change is Change.MARKED
    apart = _updated_apart(m, event)
    blank = event.tensor.origin is Source.BLANK  # which may be there to be filled: both keys are to have what it gets
    written = {each.site.expression for each in m.state[WRITES].get(event.tensor.storage, ())}
    if (part or apart) and not (blank and written == {event.site.expression}):
        values = [array_backing(m.see(value)) for value in m.state.get(container).items.values()]
        if sum(value is event.tensor for value in values) > 1:
            for site in dict.fromkeys((event.site, *(each.site for each in apart))):
                m.refuse("keyed", site, other=pair[2] if pair[0] is container else None)
    elif not blank:
        line, key = m.state[ASKED].get((container, event.tensor)) or (None, None)
        if line is not None and line is event.line:
            m.state.set(m.state[BY_KEY], (container, event.tensor), (key, event))


def _updated_apart(m: Trace, event: Overwrite) -> list[Overwrite]:
    """Return earlier updates of a tensor by another attribute or key: ``s["mean"] += x``, ``s["var"] += x * x``."""
    others = [each for each in m.state[WRITES].get(event.tensor.storage, ()) if not writes_the_same(event, each)]
    return [each for each in others if is_spelled_otherwise(event, each)]


@events.load_key.listen
def on_load_key(m: Trace, container: Dict, key: Hashable, value: Value) -> None:
    """Report the read of a tensor that was overwritten before the dictionary got it under another key too.

    A hook that keeps the results of all layers keeps that of ``nn.ReLU(inplace=True)`` under two names.
    """
    tensor, time = array_backing(value), m.state[KEYED].get((container, key), 0)
    if not isinstance(tensor, Tensor):
        return
    if m.state[PAIRED].get(tensor) is not None:
        _judge_other_key(m, container, key, tensor)
    if not time:
        return
    last = abs(m.state[STORED].get((container, tensor.storage), 0))
    for event in since(m, tensor, time) if time < last else ():
        if event.time < last:
            judge_element(m, container, tensor, event, time, True)
    m.state.set(m.state[KEYED], (container, key), 0)


def _judge_other_key(m: Trace, container: Dict, key: Hashable, tensor: Tensor) -> None:
    """Report the read of a tensor by one of its two keys after all of it was overwritten by the other one."""
    other, event = m.state[BY_KEY].get((container, tensor)) or (key, None)
    pair = m.state[PAIRED].get(tensor)
    if event is not None and other != key and event in since(m, tensor, 0) and not is_parameter(m, tensor):
        m.refuse("keyed", event.site, guard=event.guard, other=pair[2] if pair is not None else None)
    line = m.stack.frames[-1].line if m.stack.frames else None
    m.state.set(m.state[ASKED], (container, tensor), (line, key))
