"""Entries that need no reading: they write nothing, and what they call was seen to keep its writes to itself.

A function that overwrites only what it has made since it was called looks the same to all who call it. Where that is
all that another one calls, as far as its text and the instance it works on show, no write there can meet a save.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from . import classes
from .domain import ITEMS, Choice, Dict, List, Object, Storage, Tuple, Value
from .machine import ENTRY_STEPS, NEVER, Function, Machine
from .scan import Piece

NAMESAKES = 32
"""Most functions of one name that are asked about."""
_WALKING = frozenset("children modules named_children named_modules get_submodule _modules apply __dict__ vars".split())
"""What comes to modules without spelling their names."""


@contextmanager
def watched(m: Machine, called: Piece | Object | None) -> Iterator[None]:
    """A function, or an instance, is called: does it overwrite what was there before?"""
    before, m.oldest, first = m.oldest, NEVER, Storage.count + 1
    try:
        yield
    finally:
        if called is not None:
            if m.oldest < first or m.entry_steps > ENTRY_STEPS:
                m.meddling.add(called)
            m.observed.add(called)
        m.oldest = min(before, m.oldest)


def settled(m: Machine, function: Function, receiver: Value | None) -> bool:
    """Whether an entry may be left out."""
    piece = function.text
    if m.extra or piece is None or piece.unit is None:
        return False
    unit = piece.unit
    if unit.writes or unit.fills or unit.makes or unit.begins:
        return False
    names = unit.mentions | unit.own | unit.strings
    if not names.isdisjoint(_WALKING):
        return False
    called = [m.file.functions.get(name, ()) for name in names]
    if any(len(namesakes) > NAMESAKES for namesakes in called):
        return False
    if not all(_calm(m, other) for namesakes in called for other in namesakes if other.worth):
        return False
    only_called = unit.asked - unit.referred
    return all(
        _calm(m, module) or (name in only_called and whole is not module and _calm(m, whole))
        for name, whole, module in _modules(m, receiver)
        if name in names
    )


def _calm(m: Machine, called: Piece | Object) -> bool:
    return called in m.observed and called not in m.meddling


def _modules(m: Machine, receiver: Value | None) -> list[tuple[str, Object, Object]]:
    """The modules in an instance: the attribute that one stands in, what that holds, and the module itself."""
    if not isinstance(receiver, Object):
        return []
    if receiver not in m.held_modules:  # an entry begins with the instance as its __init__ has left it
        m.held_modules[receiver] = list(_walk(m, receiver))
    return m.held_modules[receiver]


def _walk(m: Machine, receiver: Object) -> Iterator[tuple[str, Object, Object]]:
    todo: list[tuple[str, Value, Object | None]] = [("", receiver, None)]
    seen: set[int] = set()
    while todo:
        name, item, whole = todo.pop()
        item = m.see(item)
        if isinstance(item, Choice):
            todo += [(name, option, whole) for _, option in item.options]
        elif id(item) in seen:
            continue
        elif isinstance(item, Tuple):
            todo += [(name, part, whole) for part in item.items]
        elif isinstance(item, (List, Dict)):
            seen.add(id(item))
            held = m.state.get(item).items
            todo += [(name, part, whole) for part in (held.values() if isinstance(item, Dict) else held)]
        elif isinstance(item, Object):
            seen.add(id(item))
            contents = m.state.get(item).items
            if classes.is_module(item.cls) and ITEMS not in contents:
                yield name, whole or item, item
            for key, part in contents.items():
                todo.append((name, part, whole or item) if key == ITEMS else (str(key), part, None))
