"""Models and state dicts that are kept by reference while training goes on."""

from __future__ import annotations

from collections.abc import Sequence

from ..heap.state import Declared, in_order, same_or_none
from ..heap.values import Choice, Object, Tensor, Value
from ..program.sealed import sealed
from ..program.site import Site
from ..program.summary import Triggers
from ..rule import Rule
from ..trace import events
from ..trace.frames import Frame
from ..trace.log import EVENTS, since
from ..trace.trace import Trace

RULES = (
    Rule(
        "TIP307",
        "state-by-reference",
        "a model or its `state_dict()` is kept without a copy while training goes on",
        "snapshot",
        "leaves nothing to go back to: the model or `state_dict()` that is used later refers to the parameters "
        "that training overwrites; keep a `copy.deepcopy`",
        silent=True,
        at_run_time=False,
    ),
)


@sealed(frozen=True, slots=True, eq=False)
class Update:
    """An update of parameters: when, and the optimizer step that made it, if it is in this file."""

    time: int
    site: Site | None


@sealed(frozen=True, slots=True, eq=False)
class Snapshot:
    """A ``state_dict()``, which holds the parameters themselves: of which module, where and when it was taken."""

    module: Value
    site: Site
    time: int


UPDATES: Declared[str, tuple[Update, ...]] = Declared(in_order)
"""The updates of parameters, under the one key ``_ALL``."""
_ALL = "all"
TRIGGERS = Triggers(names=frozenset({"load_state_dict"}))
SNAPSHOTS: Declared[Value, Snapshot | None] = Declared(same_or_none)
"""The state dicts that were taken."""
OVERTAKEN: Declared[tuple[Frame | Object, str], Site | None] = Declared(same_or_none)
"""Variables and attributes that were to keep a module and are the module itself: where it was trained since."""


def updates(m: Trace) -> tuple[Update, ...]:
    """Return the updates of parameters so far."""
    return m.state[UPDATES].get(_ALL, ())


@events.state_dict.listen
def snapshot(m: Trace, module: Value, states: Value, site: Site) -> None:
    """``module.state_dict()``: the parameters themselves, not copies of them."""
    m.state.set(m.state[SNAPSHOTS], states, Snapshot(module, site, m.tick()))


@events.update.listen
def updated(m: Trace, site: Site | None) -> None:
    """Parameters are updated: by the optimizer step at ``site``, or after a backward, by code that this file hides."""
    m.state.set(m.state[UPDATES], _ALL, (*updates(m)[1 - EVENTS :], Update(m.tick(), site)))


def update_since(m: Trace, time: int) -> Site | None:
    """The first update of parameters after a moment, that this file shows."""
    return next((update.site for update in updates(m) if update.time > time and update.site is not None), None)


def bound(m: Trace, owner: Frame | Object, name: str, value: Value) -> None:
    """A variable or attribute is bound anew: whatever it was to keep, it keeps no more."""
    if m.state[OVERTAKEN]:
        m.state.set(m.state[OVERTAKEN], (owner, name), None)


events.bind.listen(bound)
events.set_attribute.listen(bound)


@events.read_variable.listen
def read_variable(m: Trace, name: str, value: Value, frame: Frame, index: tuple[Value, ...]) -> None:
    """A variable is read: see `overtaken`."""
    overtaken(m, frame, name)


@events.read_attribute.listen
def read_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """An attribute is read: see `overtaken`."""
    if not m.unread:
        overtaken(m, instance, name)


def overtaken(m: Trace, owner: Frame | Object, name: str) -> None:
    """A variable or attribute is read that was to keep a module as it was, and is the module itself."""
    update = m.state[OVERTAKEN].get((owner, name)) if m.state[OVERTAKEN] else None
    if update is not None:
        m.refuse("snapshot", update)


@events.load_state_dict.listen
def restored(m: Trace, module: Value, states: Value, parameters: Sequence[Tensor]) -> None:
    """``module.load_state_dict(states)``: where the states are the parameters, nothing is brought back."""
    states = m.see(states)
    for option in [option for _, option in states.options] if isinstance(states, Choice) else [states]:
        taken = m.state[SNAPSHOTS].get(option)
        if taken is None or taken.module is not module:
            continue
        since_then = [update.site for update in updates(m) if update.time > taken.time]
        if since_then:
            written = dict.fromkeys(event.site for tensor in parameters for event in since(m, tensor, taken.time))
            known = [where for where in since_then if where is not None][:1] or list(written) or [taken.site]
            for where in known:
                m.refuse("snapshot", where)
