"""Optimizers that share their state: ``load_state_dict`` makes no copy of the averages that another optimizer keeps."""

from __future__ import annotations

from ..heap.state import Declared, same_or_none, union
from ..heap.values import Object, Value
from ..program.site import Site
from ..trace import events
from ..trace.trace import Trace

SHARERS: Declared[Value, frozenset[Value]] = Declared(union)
"""The optimizers that one shares its state with."""
STEPPED: Declared[Value, bool | None] = Declared(same_or_none)
"""The optimizers that have made a step."""
STEPPED_ON: Declared[Value, Site | None] = Declared(same_or_none)
"""Where a step of another optimizer overwrote the state that it shares with this one."""


def note_sharers(m: Trace, optimizer: Value, other: Value) -> None:
    """Note that an optimizer is given the state of another one, which has one since its first step."""
    if other in m.state[STEPPED] and other is not optimizer:
        for one, sharer in ((optimizer, other), (other, optimizer)):
            m.state.set(m.state[SHARERS], one, m.state[SHARERS].get(one, frozenset()) | {sharer})


@events.step.listen
def on_step(m: Trace, optimizer: Object, site: Site) -> None:
    """Note the step of an optimizer: an optimizer that shares its state sees that."""
    judge_sharer(m, optimizer)
    m.state.set(m.state[STEPPED], optimizer, True)
    for sharer in m.state[SHARERS].get(optimizer, frozenset()):
        m.state.set(m.state[STEPPED_ON], sharer, site)


def judge_sharer(m: Trace, optimizer: Value) -> None:
    """Report the step of another optimizer that overwrote the state of this one, which goes on with it."""
    site = m.state[STEPPED_ON].get(optimizer) if m.state[STEPPED_ON] else None
    if site is not None:
        m.refuse("snapshot", site)
