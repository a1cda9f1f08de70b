"""Saved tensors that are overwritten before a backward needs them."""

from __future__ import annotations

from ..heap.autograd import Write, compatible, graph, routes
from ..heap.join import Options
from ..heap.state import Declared
from ..heap.values import Grad, Node, Saved, Storage, Value
from ..program.site import Site
from ..trace.reports import Hazard
from ..trace.trace import GRAD_TESTS, Trace


def _all_writes(options: Options[tuple[Write, ...]]) -> tuple[Write, ...]:
    return tuple(dict.fromkeys(write for _, writes in options for write in writes))


PENDING: Declared[Saved, tuple[Write, ...]] = Declared(_all_writes)
"""The writes that made a saved tensor stale: a hazard as soon as a backward may reach it."""
SECOND_BACKWARD: Declared[Saved, tuple[Write, ...]] = Declared(_all_writes)
"""The writes that a custom backward makes to what it saved for itself: a hazard if a second backward comes."""


def write(m: Trace, storage: Storage, form: str, site: Site) -> None:
    """Record that a storage is overwritten: every saved tensor in it that a backward may still need is now stale.

    Writes that an optimizer of the program makes count at the call of the optimizer.
    """
    if m.stack.stepping is not None:
        form, site = "step", m.stack.stepping
    if storage in m.backward.readonly:
        m.refuse(m.backward.readonly[storage], site)
        return
    if storage.hidden is not None:
        write(m, storage.hidden, "data", site)
    if storage in m.backward.saved:
        m.backward.saved[storage].append(Write(form, site, m.state.guard(), tuple(m.stack.calls)))
        return
    saves = live(m, storage)
    if saves:
        guard = m.state.guard()
        pending = m.state[PENDING]
        made: Write | None = None
        for saved in saves:
            if compatible(saved.guard, guard):
                made = made or Write(form, site, guard, tuple(m.stack.calls))
                m.state.set(pending, saved, (*pending.get(saved, ()), made))


def live(m: Trace, storage: Storage) -> list[Saved]:
    """Return the saves of a storage that happen on the present path.

    If a tensor was tested for whether it requires grad, and does not, nothing was saved for its gradient. A program
    that tests one operand has seen to the others as well, so only what surely requires grad still counts.
    """
    saves = m.state.get(storage)
    constant = {cell for cell in m.state[GRAD_TESTS] if m.without_grad(cell)} if saves else set()
    if not constant:
        return list(saves)
    nodes = graph(*(m.state.get(cell).node for cell in constant))
    void = {saved for node in nodes for saved in node.saves}
    sure = {saved for saved in saves if any(m.state.get(c).grad is Grad.YES for c in saved.needs - constant)}
    return [saved for saved in saves if saved in sure - void]


def backward_may_start_from(m: Trace, *values: Value) -> None:
    """Report the stale saved tensors that a backward from these values would need."""
    pending = m.state[PENDING]
    if not pending:
        return
    for node, guard in routes(m.sources(*values), m.state.guard()):
        for saved in node.saves:
            for made in pending.get(saved, ()):
                if (saved, made) not in m.reports.hazards and compatible(saved.guard, made.guard, guard):
                    m.reports.hazards[saved, made] = Hazard(saved, made)


def second_backward(m: Trace, *values: Value) -> None:
    """A backward kept the graph of these values: what custom backwards have overwritten is stale for the next one."""
    pending, again = m.state[PENDING], m.state[SECOND_BACKWARD]
    for node in graph(*m.history(*values)):
        for saved in node.saves:
            if saved in again:
                m.state.set(pending, saved, (*pending.get(saved, ()), *again[saved]))


def free_graph(m: Trace, *nodes: Node) -> None:
    """A backward went through these nodes, and freed what they and those before them had saved."""
    for node in graph(*nodes):
        for saved in node.saves:
            held = m.state.get(saved.storage)
            if saved in held:
                m.state.put(saved.storage, held - {saved})
