"""What a program keeps and changes before it comes back to it: modules, their states, elements of datasets, buffers."""

from __future__ import annotations

import libcst as cst

from .domain import Choice, Object, Tensor, Unknown, Value
from .machine import Frame, Function, Machine, Site
from .stale import EVENTS, Event, since


def snapshot(m: Machine, module: Value, site: Site) -> Value:
    """``module.state_dict()``: the parameters themselves, not copies of them."""
    taken_now = Unknown()
    m.snapshots[taken_now] = (module, site, m.tick())
    return taken_now


def updated(m: Machine, site: Site | None) -> None:
    """Parameters are updated: by the optimizer step at ``site``, or after a backward, by code that this file hides."""
    m.state.set(m.updates, "all", (*m.updates.get("all", ())[1 - EVENTS :], (m.tick(), site)))


def update_since(m: Machine, time: int) -> Site | None:
    """The first update of parameters after a moment, that this file shows."""
    return next((site for moment, site in m.updates.get("all", ()) if moment > time and site is not None), None)


def overtaken(m: Machine, owner: Frame | Object, name: str) -> None:
    """A variable or attribute is read that was to keep a module as it was, and is the module itself."""
    update = m.overtaken.get((owner, name))
    if update is not None:
        m.refuse("snapshot", update)


def compared(m: Machine, one: Tensor, other: Tensor) -> None:
    """A parameter is compared with what ``.data`` or ``detach()`` kept of it before an update: with itself.

    Where ``to()`` or ``cpu()`` may have copied, it may be what it was.
    """
    both = (one, other)
    memory = {tensor.storage.hidden or tensor.storage for tensor in both}
    if len(memory) > 1 or any(tensor.view or tensor.origin in ("maybe", "cast") for tensor in both):
        return
    begin, end = sorted(tensor.time for tensor in both)
    if begin == 0:  # the parameter itself, as it is now
        begin, end = end, m.tick()
    for moment, site in m.updates.get("all", ()):
        if 0 < begin < moment < end and site is not None:
            m.refuse("read", site)


def restored(m: Machine, module: Value, states: Value, parameters: list[Tensor]) -> None:
    """``module.load_state_dict(states)``: where the states are the parameters, nothing is brought back."""
    states = m.see(states)
    for option in [option for _, option in states.options] if isinstance(states, Choice) else [states]:
        owner, site, time = m.snapshots.get(option, (None, None, 0))
        since_then = [where for moment, where in m.updates.get("all", ()) if moment > time]
        if site is not None and owner is module and since_then:
            written = dict.fromkeys(event.site for tensor in parameters for event in since(m, tensor, time))
            known = [where for where in since_then if where is not None][:1] or list(written) or [site]
            for where in known:
                m.refuse("snapshot", where)


def brought_back(m: Machine, tensor: Tensor, old: Tensor) -> None:
    """``x.data = old`` or ``x.copy_(old)``: what ``old = x.data`` kept is ``x`` itself, with all that was written.

    So is what ``x.detach()`` kept. Writes through ``old`` are what the program wants to have, and writes to other
    memory, which ``x`` was given since by ``x.data = ...``, do not touch it.
    """
    memory = tensor.storage.hidden or tensor.storage
    sure = old.view == tensor.view == "" and old.origin not in ("maybe", "cast")
    detached = sure and old.storage is memory and 0 < old.time != tensor.time
    same = (detached or old.storage.hidden is memory) and m.stored.get(("data", memory), 0) <= old.time
    for (storage,) in list(m.events) if same else ():
        if memory in (storage, storage.hidden):
            for event in since(m, Tensor(storage), old.time):
                if event.tensor is not old and (detached or storage is not old.storage):
                    m.refuse("read", event.site)


def replaced(m: Machine, tensor: Tensor, value: Value) -> None:
    """``x.data = value`` gives ``x`` other memory, or brings back its own."""
    if isinstance(value, Tensor):
        brought_back(m, tensor, value)
    m.state.set(m.stored, ("data", tensor.storage.hidden or tensor.storage), m.tick())


def run_again(m: Machine, buffers: list[Tensor], begin: int) -> None:
    """What was called at ``begin`` runs again in the backward of a checkpoint, and updates its buffers twice."""
    for tensor in buffers:
        for event in since(m, tensor, begin) if not m.grad(tensor) else ():
            if _converts(event) and _written_out(event):
                m.refuse("again", event.site)


def _written_out(event: Event) -> bool:
    """Whether the program spells the write, as a batch norm, which updates its statistics, does not."""
    node = event.site.expression
    if not isinstance(node, cst.Call):
        return True
    called = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
    return isinstance(called, cst.Name) and called.value.endswith("_")


def read_twice(m: Machine, getter: Function, instance: Value, site: Site) -> None:
    """Read one element of a dataset twice: what the first reading converted in place, the second converts again."""
    mark, index = m.state.mark(), Unknown(scalar=True)
    begin = m.tick()
    m.run(getter, [instance, index], {}, site)
    again_from = m.tick()
    m.run(getter, [instance, index], {}, site)
    for writes in list(m.events.values()):
        first = {event.site.expression for event in writes if begin < event.time < again_from}
        again = [event for event in writes if event.time > again_from and event.site.expression in first]
        again = [event for event in again if event.tensor.origin != "cast"]  # which may have copied
        for event in again if any(map(_converts, again)) else ():
            m.refuse("dataset", event.site)
    m.state.rollback(mark)


def _converts(event: Event) -> bool:
    """Whether a write makes new values of the old ones, others each time that it is repeated."""
    node = event.site.expression
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _IDEMPOTENT:
        return False
    return event.made == "converted" if event.form == "subscript" else not event.filled


_IDEMPOTENT = frozenset("clamp_ clamp_min_ clamp_max_ clip_ relu_ abs_ masked_fill_ floor_ ceil_ round_".split())
