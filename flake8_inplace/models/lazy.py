"""Lazy iterators: ``map``, ``filter`` and generator expressions compute nothing until something reads them."""

from __future__ import annotations

from collections.abc import Callable

from ..heap.state import Declared
from ..heap.values import Items, List, Value
from ..trace.trace import Trace

Rows = tuple[list[Value], bool]
"""Elements, and whether these are all."""
_UNREAD: Declared[List, Callable[[], Rows] | None] = Declared(lambda options: options[0][1])
"""What computes the elements of an iterator that nothing has read yet."""


def lazily(m: Trace, make: Callable[[], Rows], time: int = 0) -> List:
    """An iterator whose elements are computed when it is read."""
    made = List(open=True, time=time)
    m.state.set(m.state[_UNREAD], made, make)
    return made


def read(m: Trace, *values: Value) -> None:
    """Something reads these values: of those that are lazy, the elements are computed now."""
    unread = m.state[_UNREAD]
    for value in values if unread else ():
        if isinstance(value, List) and (make := unread.get(value)) is not None:
            m.state.set(unread, value, None)
            rows, exact = make()
            m.state.put(value, Items(tuple(rows), not exact))
