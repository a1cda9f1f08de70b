"""Lazy iterators: ``map``, ``filter`` and generators compute nothing until something reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..heap.state import Declared, same_or_none
from ..heap.values import Items, List, Value
from ..trace import events
from ..trace.trace import Trace

Rows = tuple[list[Value], bool]
"""Elements, and whether these are all."""
UNREAD: Declared[List, Callable[[], Rows] | None] = Declared(same_or_none)
"""What computes the elements of an iterator that nothing has read yet."""
Body = Callable[[Callable[[Value], None], bool], object]
"""Runs the body of a generator, given what to call with each value and whether to stop at the first ``yield``."""
BODIES: Declared[List, Body | None] = Declared(same_or_none)
"""The bodies of generators, by the lists of their values."""


def lazily(m: Trace, make: Callable[[], Rows], given: Sequence[Value], time: int = 0) -> List:
    """An iterator that computes its elements from ``given`` when it is read."""
    events.hand_over(m, given)
    made = List(open=True, time=time)
    m.state.set(m.state[UNREAD], made, make)
    return made


def each(m: Trace, rows: Sequence[Callable[[], Value]], given: Sequence[Value], exact: bool) -> List:
    """An iterator that computes one element after the other when it is read."""

    def make() -> Rows:
        found: list[Value] = []
        for row in rows:
            found.append(row())
            if m.stack.frames:  # not in module-level code that runs when one of its names is looked up
                events.yields(m, m.stack.frames[-1], made, found[-1:])
        return found, exact

    made = lazily(m, make, given)
    return made


def read(m: Trace, *values: Value) -> None:
    """Something reads these values: of those that are lazy, the elements are computed now."""
    unread = m.state[UNREAD]
    for value in values if unread else ():
        if isinstance(value, List) and (make := unread.get(value)) is not None:
            m.state.set(unread, value, None)
            rows, exact = make()
            m.state.put(value, Items(tuple(rows), not exact))


def generator(m: Trace, body: Body, given: Sequence[Value]) -> List:
    """Return what a call of a generator function makes. Its body runs when something reads it."""
    made = lazily(m, lambda: _all(m, made, body), given)
    m.state.set(m.state[BODIES], made, lambda resume, once: _go_on(m, made, body, resume, once))
    return made


def _all(m: Trace, made: List, body: Body) -> Rows:
    """Run a generator to its end, and return what it yields."""
    body(lambda value: _collect(m, made, value), False)
    return list(m.state.get(made).items), False


def _collect(m: Trace, made: List, value: Value) -> None:
    m.state.put(made, Items((*m.state.get(made).items, value), True))
    events.yields(m, m.stack.frames[-1], made, [value])


def _go_on(m: Trace, made: List, body: Body, resume: Callable[[Value], None], once: bool) -> None:
    m.state.set(m.state[UNREAD], made, None)
    body(resume, once)
    m.state.put(made, Items((), once))  # it has yielded its last value, unless it was asked for one only


def suspended(m: Trace, value: Value) -> Body | None:
    """Return the body of a generator that nothing has read yet; None of anything else."""
    return m.state[BODIES].get(value) if isinstance(value, List) and m.state[UNREAD].get(value) is not None else None


def is_generator(m: Trace, value: List) -> bool:
    """Return whether a list stands for the values of a generator."""
    return m.state[BODIES].get(value) is not None


def start(m: Trace, value: List, body: Body) -> list[Value]:
    """Run a generator up to its first ``yield``, and return what it yields. The rest is taken to yield the like."""
    found: list[Value] = []
    body(found.append, True)
    m.state.put(value, Items(tuple(found), True))
    return found


def drive(m: Trace, value: Value, body: Body, act: Callable[[Value, bool], None]) -> None:
    """Run a generator to its end. Where it yields, ``act`` runs as a part of the code that reads it.

    It is told whether it runs for all iterations that follow in the generator.
    """
    outside = list(m.stack.frames), list(m.stack.calls), list(m.stack.functions)

    def resume(item: Value) -> None:
        if isinstance(value, List):
            events.yields(m, m.stack.frames[-1], value, [item])
        inside = m.stack.frames, m.stack.calls, m.stack.functions
        later = any(loop.later for frame in m.stack.frames if frame not in outside[0] for loop in frame.loops)
        m.stack.frames, m.stack.calls, m.stack.functions = outside
        try:
            act(item, later)
        finally:
            m.stack.frames, m.stack.calls, m.stack.functions = inside

    body(resume, False)
