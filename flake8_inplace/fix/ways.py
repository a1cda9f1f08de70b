"""By which ways the old tensor is read after a write.

A fix gives one name a new tensor. Whoever reads the memory by another way, bound before the write, was meant to see
what was written, and would not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from ..heap.values import ALWAYS, Choice, Dict, Guard, List, Object, Source, Storage, Tensor, Tuple, Value
from ..program.site import Site
from ..trace import events
from ..trace.frames import Frame
from ..trace.log import REFUSED, STORED, WRITES, Overwrite, Refused, array_backing
from ..trace.trace import Trace
from . import holders
from .facts import (
    ELEMENT,
    ELEMENTS,
    ELSEWHERE,
    OTHER_ELEMENT,
    collected,
    fact_of,
    facts_at,
    options,
    place_of,
    tuple_way,
)
from .syntax import root_of, written_at

COPIES = (Source.MAYBE_CAST, Source.MAYBE_SAME)
"""What may be the very tensor that it was made of, or a copy."""


def note_writer(m: Trace, frame: Frame, site: Site) -> None:
    """Note the variable by which a part is written: writes before it, under another name, are to meet this one."""
    target = written_at(site.expression)
    root = root_of(target) if target is not None else None
    if isinstance(root, cst.Name) and root.value in frame.vars:
        note_variable(m, root.value, m.see(frame.vars[root.value]), frame, ())


@events.read_variable.listen
def note_variable(m: Trace, name: str, value: Value, frame: Frame, index: tuple[Value, ...]) -> None:
    """Note that a variable is read, which was bound before the writes that it shows."""
    if collected() is not None:
        for event in _shown(m, value, lambda guard: frame.held(name, guard)):
            own = event.frames[-1] is frame
            _note(m, event, name if own else ELSEWHERE, name if own else f"^{name}")


@events.read_tuple.listen
def note_tuple(m: Trace, name: str, value: Tuple | List, frame: Frame) -> None:
    """Note that a tuple is read that was made before the writes to what it has."""
    facts = collected()
    if facts is not None:
        for fact in facts.tuples.get(id(value), (value, []))[1]:
            fact.ways.add(tuple_way(name) if frame is m.stack.frames[-1] else ELSEWHERE)


@events.read_attribute.listen
def note_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Note that an attribute is read, which was bound before the writes that it shows."""
    if collected() is not None:
        for event in _shown(m, value, lambda _: abs(m.state[STORED].get((instance, name), 0))):
            _note(m, event, f".{name}", f".{name}")


@events.load.listen
def note_element(m: Trace, container: List | Dict, value: Value, named: bool) -> None:
    """Note that an element is read, which was put there before the writes that it shows."""
    facts = collected()
    if facts is None:
        return
    items = m.state.get(container).items.values() if isinstance(container, Dict) else m.state.get(container).items
    for tensor in _tensors(m, value):
        places = sum(any(_overlap(m, other, tensor) for other in _tensors(m, item)) for item in items)
        stored = facts.kept.get((container, tensor)) or abs(m.state[STORED].get((container, tensor.storage), 0))
        stored = max(stored, container.time)  # a display is made of what its elements were by then
        for event in _writes_shown(m, tensor, stored):
            fact = fact_of(event)
            if fact is not None:
                other = bool(fact.containers) and container not in fact.containers
                _note(m, event, OTHER_ELEMENT if other else ELEMENT if places < 2 else ELEMENTS)


def _tensors(m: Trace, value: Value) -> Iterator[Tensor]:
    """Yield the tensor that a value is, or those of a choice."""
    for option in options(m, value):
        if isinstance(option, Tensor):
            yield option


def _overlap(m: Trace, one: Tensor, other: Tensor) -> bool:
    return one.storage is other.storage and not holders.apart(m, one, other)


@events.read_operand.listen
def note_operand(m: Trace, value: Value, since: int, named: bool) -> None:
    """Note that an operand or an element of a display was evaluated before a write that it shows."""
    if collected() is not None and isinstance(value, Tensor):
        for event in _writes_shown(m, value, since):
            _note(m, event, ELEMENT)


def _note(m: Trace, event: Overwrite | Refused, way: str, name: str = "") -> None:
    fact, reader = fact_of(event), m.here()
    if fact is not None:
        fact.ways.add(way)
        if reader is not None and facts_at(reader) is not None:
            fact.readers.setdefault(place_of(reader), set()).add((name or way, event.tensor.storage.memory))


def _shown(m: Trace, value: Value, since: Callable[[Guard], int]) -> Iterator[Overwrite | Refused]:
    """The writes to the memory of a value since it was bound, other than to a part that it certainly has not.

    Where ``x.to(dtype)`` or ``x.contiguous()`` is written to, which may be ``x`` or a copy, nobody counts on seeing
    that in ``x``.
    """
    for guard, option in value.options if isinstance(value, Choice) else [(ALWAYS, value)]:
        found = array_backing(m.see(option))
        if isinstance(found, Tensor):
            yield from _writes_shown(m, found, since(guard))


def _writes_shown(m: Trace, tensor: Tensor, since: int) -> Iterator[Overwrite | Refused]:
    for event in writes(m, tensor.storage):
        unsure = event.tensor is not tensor and event.tensor.origin in COPIES
        if event.time > since and not unsure and not holders.apart(m, tensor, event.tensor):
            yield event


def writes(m: Trace, storage: Storage) -> Iterator[Overwrite | Refused]:
    """Yield the writes to a memory, whichever version counter they went past."""
    for table in (m.state[WRITES], m.state[REFUSED]):
        for written, found in table.items():
            if written.memory is storage.memory:
                yield from found
