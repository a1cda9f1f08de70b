"""Models and state dicts that are kept by reference while training goes on."""

from __future__ import annotations

from ..heap.values import Choice, Object, Tensor, Unknown, Value
from ..program.site import Site
from ..trace.frames import Frame
from ..trace.machine import Machine
from .log import EVENTS, since


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
