"""Lazy iterators: ``map``, ``filter`` and generator expressions compute nothing until something reads them."""

from __future__ import annotations

from collections.abc import Callable

from ..heap.state import Declared, same_or_none
from ..heap.values import Items, List, Value
from ..trace.trace import Trace

Rows = tuple[list[Value], bool]
"""Elements, and whether these are all."""
UNREAD: Declared[List, Callable[[], Rows] | None] = Declared(same_or_none)
"""What computes the elements of an iterator that nothing has read yet."""


def lazily(m: Trace, make: Callable[[], Rows], time: int = 0) -> List:
    """An iterator whose elements are computed when it is read."""
    made = List(open=True, time=time)
    m.state.set(m.state[UNREAD], made, make)
    return made


def read(m: Trace, *values: Value) -> None:
    """Something reads these values: of those that are lazy, the elements are computed now."""
    unread = m.state[UNREAD]
    for value in values if unread else ():
        if isinstance(value, List) and (make := unread.get(value)) is not None:
            m.state.set(unread, value, None)
            rows, exact = make()
            m.state.put(value, Items(tuple(rows), not exact))
