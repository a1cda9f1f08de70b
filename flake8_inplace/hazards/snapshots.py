"""Snapshots of a model that are no copies: a ``state_dict()`` or the model itself, while training continues."""

from __future__ import annotations

from collections.abc import Sequence

from ..heap.state import Declared, in_order, same_or_none
from ..heap.values import Choice, Object, Tensor, Value
from ..program.sealed import sealed
from ..program.site import Site
from ..program.units import Triggers
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
        "overwrites the state that was kept",
        other="used",
        effect="nothing to restore, silently",
        advice="keep a `copy.deepcopy`",
        silent=True,
        at_run_time=False,
    ),
)


@sealed(frozen=True, slots=True, eq=False)
class Update:
    """An update of parameters: when, and the optimizer step, or None for one in unknown code."""

    time: int
    site: Site | None


@sealed(frozen=True, slots=True, eq=False)
class Snapshot:
    """A ``state_dict()``, which aliases the parameters: of which module, where and when it was taken."""

    module: Value
    site: Site
    time: int


UPDATES: Declared[str, tuple[Update, ...]] = Declared(in_order)
"""The updates of parameters, under the only key ``_ALL``."""
_ALL = "all"
TRIGGERS = Triggers(names=frozenset({"load_state_dict"}))
SNAPSHOTS: Declared[Value, Snapshot | None] = Declared(same_or_none)
"""The snapshots, by the value of the state dict."""
STALE_SNAPSHOTS: Declared[tuple[Frame | Object, str], Site | None] = Declared(same_or_none)
"""Variables and attributes that should be a snapshot of a module and are the module: the update since then."""


def updates(m: Trace) -> tuple[Update, ...]:
    """Return the updates of parameters so far, up to `EVENTS` of them."""
    return m.state[UPDATES].get(_ALL, ())


@events.state_dict.listen
def on_state_dict(m: Trace, module: Value, states: Value, site: Site) -> None:
    """Note ``module.state_dict()``, which returns the parameters themselves, not copies."""
    m.state.set(m.state[SNAPSHOTS], states, Snapshot(module, site, m.tick()))


@events.update.listen
def on_update(m: Trace, site: Site | None) -> None:
    """Note an update of parameters: the optimizer step at ``site``, or one in unknown code after a backward."""
    m.state.set(m.state[UPDATES], _ALL, (*updates(m)[1 - EVENTS :], Update(m.tick(), site)))


def update_since(m: Trace, time: int) -> Site | None:
    """Return the first optimizer step of this file after ``time``, or None."""
    return next((update.site for update in updates(m) if update.time > time and update.site is not None), None)


def on_bind(m: Trace, owner: Frame | Object, name: str, value: Value) -> None:
    """Forget the snapshot of a variable or attribute that is rebound."""
    if m.state[STALE_SNAPSHOTS]:
        m.state.set(m.state[STALE_SNAPSHOTS], (owner, name), None)


events.bind.listen(on_bind)
events.set_attribute.listen(on_bind)


@events.read_variable.listen
def read_variable(m: Trace, name: str, value: Value, frame: Frame, index: tuple[Value, ...]) -> None:
    """Judge the read of a variable."""
    _judge_read(m, frame, name)


@events.read_attribute.listen
def read_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Judge the read of an attribute."""
    if not m.unread:
        _judge_read(m, instance, name)


def _judge_read(m: Trace, owner: Frame | Object, name: str) -> None:
    """Report the read of a snapshot that is the trained module itself."""
    update = m.state[STALE_SNAPSHOTS].get((owner, name)) if m.state[STALE_SNAPSHOTS] else None
    if update is not None:
        m.refuse("snapshot", update)


@events.load_state_dict.listen
def on_load_state_dict(m: Trace, module: Value, states: Value, parameters: Sequence[Tensor]) -> None:
    """Report ``module.load_state_dict(states)`` if the states alias the parameters: nothing is restored."""
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
