"""Stale reads of what a generator yields: it overwrites its values while they are collected."""

from __future__ import annotations

from collections.abc import Sequence

from ..heap.values import List, Value
from ..trace import events, holdings
from ..trace.frames import Frame
from ..trace.log import STORED, YIELDS, Yielded, array_backing, direct_tensors, is_by_generator, since
from ..trace.trace import Trace
from .contained import surely_changes
from .intent import keeps_last


@events.exhaust.listen
def on_exhaust(m: Trace, source: Value, begin: int) -> None:
    """Date what a loop over a generator has stored since ``begin`` back to its ``yield``.

    The generator was read to its end before the loop, but overwrites its values only after the loop has stored them.
    """
    log = m.state[YIELDS].get(source, ()) if m.state[YIELDS] and isinstance(source, List) else ()
    for one in log:
        for tensor in direct_tensors(m, array_backing(m.see(one.value))):
            if any(is_by_generator(log, event) for event in since(m, tensor, one.time)):
                for key, moment in list(m.state[STORED].items()):
                    if key[1] is tensor.storage and moment > begin and not isinstance(key[0], str):
                        m.state.set(m.state[STORED], key, one.time)


@events.yields.listen
def on_yield(m: Trace, frame: Frame, values: List, items: Sequence[Value]) -> None:
    """Log the values that a generator yields."""
    now = tuple(Yielded(m.tick(), frame, item) for item in items)
    m.state.set(m.state[YIELDS], values, (*m.state[YIELDS].get(values, ()), *now))


@events.derive.listen
def on_derive(m: Trace, values: List, source: Value) -> None:
    """Copy the log of yielded values to a list that is derived from ``source``."""
    if source in m.state[YIELDS]:
        m.state.set(m.state[YIELDS], values, (*m.state[YIELDS].get(values, ()), *m.state[YIELDS][source]))


@events.collect.listen
def on_collect(m: Trace, source: Value, rows: Sequence[Value], last: int) -> None:
    """Report values that a generator overwrites after yielding them, if all are collected before the first is used."""
    log = found = m.state[YIELDS].get(source, ()) if m.state[YIELDS] and isinstance(source, List) else ()
    if found and last < 0 and m.stack.frames and keeps_last(m.stack.frames[-1]):
        last = len(rows := rows[-1:])
    if last >= 0:  # those between them go to a list that may be meant for nobody
        found = (*found[: len(rows) - last], *found[max(0, len(found) - last) :])
    memory = {tensor.storage for row in rows for tensor in holdings.held(m, row, set())} if found else set()
    for one, tensor in [(each, held) for each in found for held in holdings.held(m, each.value, set())]:
        for event in since(m, tensor, one.time) if tensor.storage in memory else ():
            if is_by_generator(log, event) and surely_changes(tensor, event):
                m.refuse("read", event.site, guard=event.guard)
