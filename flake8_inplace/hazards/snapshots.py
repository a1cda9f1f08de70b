"""Snapshots of a model that are no copies: a ``state_dict()`` or the model itself, while training continues."""

from __future__ import annotations

from collections.abc import Hashable

from ..heap.state import Declared, in_order, latest, same_or_none
from ..heap.values import (
    NONE,
    UNCERTAIN,
    Array,
    Attributes,
    Choice,
    Const,
    Dict,
    Grad,
    Object,
    Source,
    Storage,
    Tensor,
    Unknown,
    Value,
)
from ..program.sealed import sealed
from ..program.site import Site
from ..program.units import Triggers
from ..rule import Rule
from ..trace import devices, events, holdings
from ..trace.frames import Frame
from ..trace.log import EVENTS, Overwrite, Written, fills, since
from ..trace.reports import Need
from ..trace.trace import MODULES, Trace
from .sharers import judge_sharer

_STATE = (
    "TIP307",
    "state-by-reference",
    "a model or its `state_dict()` is kept without a copy while training goes on",
)
RULES = (
    Rule(
        *_STATE,
        "snapshot",
        "overwrites the kept state",
        other="used",
        effect="nothing to restore, silently",
        advice="keep a `copy.deepcopy`",
        silent=True,
        at_run_time=False,
        also=(
            Rule(
                *_STATE,
                "own snapshot",
                "overwrites the kept state",
                other="taken",
                effect="nothing to restore, silently",
                advice="keep a `copy.deepcopy`",
                silent=True,
                at_run_time=False,
            ),
        ),
    ),
)


@sealed(frozen=True, slots=True, eq=False)
class Update:
    """An update of parameters: when, the optimizer step, or None for one in unknown code, and the memory, if known.

    ``writes``: where an optimizer of the program overwrites memory, and the storage by which it does.
    """

    time: int
    site: Site | None
    memory: frozenset[Storage] = frozenset()
    writes: tuple[tuple[Storage, Site], ...] = ()


@sealed(frozen=True, slots=True, eq=False)
class Snapshot:
    """A ``state_dict()``, which aliases the parameters: of which module, where and when it was taken, the result."""

    module: Value
    site: Site
    time: int
    result: Value = NONE


UPDATES: Declared[str, tuple[Update, ...]] = Declared(in_order)
"""The updates of parameters, under the only key ``_ALL``."""
_ALL = "all"
DEVICES = frozenset({"cuda", "device", "to", "mps", "xpu", "map_location"})
"""Names in a file whose tensors may be on another device than the CPU, where no module says it."""
TRIGGERS = Triggers(names=frozenset({"load_state_dict"}))
SNAPSHOTS: Declared[Tensor, Snapshot | None] = Declared(same_or_none)
"""The snapshots, by the tensors in the state dict: it may be copied, or its values put into another dictionary."""
SHALLOW: Declared[Value, int] = Declared(latest)
"""When an instance was made as a shallow copy of another one."""
TWINS: Declared[Object, Object | None] = Declared(same_or_none)
"""What a shallow copy was made of."""
CALLED: Declared[Value, int] = Declared(latest)
"""When an instance was called last, as long as there are shallow copies."""
CALLED_WITHOUT_GRAD: Declared[Value, int] = Declared(latest)
"""When an instance was called last with gradients disabled, as long as there are shallow copies."""
STALE_SNAPSHOTS: Declared[tuple[Frame | Object, str], Site | None] = Declared(same_or_none)
"""Variables and attributes that should be a snapshot of a module and are the module: the update since then."""


def updates(m: Trace) -> tuple[Update, ...]:
    """Return the updates of parameters so far, up to `EVENTS` of them."""
    return m.state[UPDATES].get(_ALL, ())


def updates_of(m: Trace, memory: Storage, time: int, besides: Storage | None = None) -> list[Update]:
    """Return the updates after ``time`` that may be of a parameter.

    An update in unknown code, after a backward, is none if an optimizer step of this file follows. To an optimizer of
    the program, its own write is the update, and not the call of its step. Its writes by the storage ``besides``, that
    of a ``p.data``, are left out.
    """
    found = [update for update in updates(m) if update.time > time]
    stepped = [update.site is not None for update in found][1:]
    mine = [one for one, next_steps in zip(found, [*stepped, False], strict=False) if one.site or not next_steps]
    mine = [update for update in mine if not update.memory or memory in update.memory]
    if m.stack.stepping is None:
        return mine
    return [inside for update in mine if (inside := _inside(update, memory, besides)) is not None]


def _inside(update: Update, memory: Storage, besides: Storage | None) -> Update | None:
    own = [(storage, site) for storage, site in update.writes if storage.memory is memory]
    left = [site for storage, site in own if storage is not besides]
    if not own:
        return update
    return Update(update.time, left[0], update.memory) if left else None


@events.state_dict.listen
def on_state_dict(m: Trace, module: Value, states: Dict, site: Site) -> None:
    """Note ``module.state_dict()``, which returns the parameters themselves, not copies."""
    judge_sharer(m, module)
    taken = Snapshot(module, site, m.tick(), states)
    for tensor in holdings.held(m, states, set()):
        m.state.set(m.state[SNAPSHOTS], tensor, taken)


@events.update.listen
def on_update(m: Trace, site: Site | None, memory: frozenset[Storage]) -> None:
    """Note an update of parameters: the optimizer step at ``site``, or one in unknown code after a backward."""
    m.state.set(m.state[UPDATES], _ALL, (*updates(m)[1 - EVENTS :], Update(m.tick(), site, memory)))
    if site is not None:
        m.note_way(site)


@events.overwrite.listen
def on_overwrite(m: Trace, tensor: Tensor, form: str, site: Site, written: Written) -> None:
    """Note that an optimizer of the program updates a parameter, or a loop by hand: ``p.data -= lr * p.grad``.

    Without ``.data``, a write by hand is in the log of writes.
    """
    stepping, cell = m.stack.stepping, tensor.cell.base or tensor.cell
    state = m.state.get(cell)
    if form == "step" or state.grad is not Grad.YES or not state.leaf:
        return
    if stepping is None and (tensor.storage.hidden is None or fills(tensor, written)):
        return
    place, held, kept = stepping or site, frozenset({tensor.storage.memory}), updates(m)[1 - EVENTS :]
    writes: tuple[tuple[Storage, Site], ...] = ((tensor.storage, site),)
    last = updates(m)[-1] if updates(m) else None
    if last is not None and last.site is not None and _is_one(last.site, place, stepping):
        held, writes, kept = held | last.memory, (*last.writes, *writes), updates(m)[:-1]
    m.state.set(m.state[UPDATES], _ALL, (*kept, Update(m.tick(), place, held, writes)))
    m.note_way(site)
    m.note_way(place)


@events.write_array.listen
def on_write_array(m: Trace, array: Array, form: str, site: Site, written: Written) -> None:
    """Note an update of a parameter through an array over it: ``p.data.numpy()[:] = values``."""
    on_overwrite(m, array.tensor, form, site, written)


def _is_one(last: Site, place: Site, stepping: Site | None) -> bool:
    """Whether one step, or one loop, updates all that it overwrites: that is one update."""
    return last is stepping if stepping is not None else last.expression is place.expression


def update_since(m: Trace, time: int) -> Site | None:
    """Return the first optimizer step of this file after ``time``, or None."""
    return next((update.site for update in updates(m) if update.time > time and update.site is not None), None)


def _judge_choice(m: Trace, value: Value) -> None:
    """Report the read of what is, on different paths, the memory of one parameter taken before and after an update.

    After ``if better: best = model.state_dict()`` in a loop, ``best`` is the present state on all paths.
    """
    if not isinstance(value, Choice) or not m.state[UPDATES]:
        return
    taken: dict[Storage, int] = {}
    for tensor, time in [
        each for guard, option in value.options if m.state.possible(guard) for each in _taken(m, option)
    ]:
        memory = tensor.storage.memory
        begin, end = sorted((taken.setdefault(memory, time), time))
        for update in updates_of(m, memory, begin):
            if update.site is not None and update.time < end:
                m.refuse("snapshot", update.site, needs=needs(m, tensor))
                return


def _taken(m: Trace, value: Value) -> list[tuple[Tensor, int]]:
    """Return the tensors in a value that were taken from others at a time, surely without a copy, and the time."""
    shared, held = m.state[SHALLOW].get(m.see(value), 0), holdings.held(m, value, set())
    times = [(tensor, tensor.time or shared) for tensor in held if not may_be_copy(m, tensor)]
    return [(tensor, time) for tensor, time in times if time]


@events.copied.listen
def on_copied(m: Trace, source: Value, copy: Value, explicit: bool) -> None:
    """Note ``copy.copy(module)``, which shares the parameters."""
    if explicit and isinstance(copy, Object) and isinstance(source, Object):
        m.state.set(m.state[SHALLOW], copy, m.tick())
        m.state.set(m.state[TWINS], copy, source)


@events.set_attribute.listen
def on_set_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Take a shallow copy that gets a layer of its own for a second form of the module, which shares the rest."""
    if m.state[SHALLOW].get(instance) and not isinstance(m.see(value), Const):  # ``eval()`` sets ``training``
        m.state.set(m.state[SHALLOW], instance, 0)


@events.call_instance.listen
def on_call_instance(m: Trace, instance: Object, site: Site) -> None:
    """Report the call of a module and of a shallow copy of it, both after an update of what they share.

    Where the copy alone is called after an update, it may be the form of the module that evaluates. So it may if its
    mode was set, and the module is called afterwards.
    """
    if not m.state[TWINS]:
        return
    m.state.set(m.state[CALLED if m.grad_mode else CALLED_WITHOUT_GRAD], instance, m.tick())
    for copy, source in list(m.state[TWINS].items()):
        begun = m.state[SHALLOW].get(copy, 0)
        if source is None or not begun or instance not in (copy, source):
            continue
        if instance is source and "training" in m.state.get(copy).items:
            continue
        changes = [each for tensor in holdings.parameters(m, copy) for each in changes_of(m, tensor.storage, begun)]
        shown = [each for each in changes if each.site is not None]  # what unknown code may do is none here
        last = max(shown, key=lambda change: change.time, default=None)
        other = source if instance is copy else copy
        called = max(m.state[table].get(other, 0) for table in (CALLED, CALLED_WITHOUT_GRAD))
        if last is not None and last.site is not None and last.time < called:
            m.refuse("snapshot", last.site)


@events.method.listen
def on_method(m: Trace, instance: Object, had: Attributes, begin: int) -> None:
    """Report the update of a module in a method that calls a shallow copy of it as a target, with gradients disabled.

    The next call of the method computes the targets with the new weights. If the mode of the copy was set, it may be
    the form of the module that evaluates.
    """
    for copy, source in list(m.state[TWINS].items()) if m.state[UPDATES] else ():
        begun = m.state[SHALLOW].get(copy, 0)
        if source is None or not begun or "training" in m.state.get(copy).items:
            continue
        if min(m.state[CALLED_WITHOUT_GRAD].get(copy, 0), m.state[CALLED].get(source, 0)) < begin:
            continue
        changes = [each for tensor in holdings.parameters(m, copy) for each in changes_of(m, tensor.storage, begin)]
        if site := next((change.site for change in changes if change.site is not None), None):
            m.refuse("snapshot", site)


def may_be_copy(m: Trace, tensor: Tensor) -> bool:
    """Return whether a tensor may be a copy of what it was made of. ``cpu()`` makes none of a module on the CPU.

    What is not known to be a module may have a state of numbers, such as a scheduler.
    """
    taken = m.state[SNAPSHOTS].get(tensor)
    if taken is not None and isinstance(taken.module, Unknown) and taken.module not in m.state[MODULES]:
        return True
    if not _may_be_same(tensor):
        return tensor.origin in UNCERTAIN
    module = _module_of(m, tensor)
    if module is None:
        return m.text.file.mentions(DEVICES)
    return devices.on_cpu(m, module, tensor.storage.memory) is False


def _may_be_same(tensor: Tensor) -> bool:
    """Whether a tensor is another one, if nothing had to be copied or moved to another device."""
    return tensor.origin in (Source.MAYBE_ALIAS, Source.MAYBE_SAME) and not tensor.storage.numpy


def _module_of(m: Trace, tensor: Tensor) -> Value | None:
    """Return the module that a tensor is of, if the program took its state."""
    memory = tensor.storage.memory
    taken = (each.module for of, each in m.state[SNAPSHOTS].items() if each and of.storage.memory is memory)
    return next(taken, None)


def needs(m: Trace, tensor: Tensor) -> tuple[Need, ...]:
    """Return what must hold for a tensor to be what it was taken of: ``cpu()`` makes no copy on some machines."""
    module = _module_of(m, tensor) if _may_be_same(tensor) else None
    if module is None:
        return ()
    sure = tensor.origin is Source.MAYBE_ALIAS and devices.on_cpu(m, module, tensor.storage.memory)
    return () if sure else (Need("same", tensor.place),)


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
    _judge_choice(m, value)


@events.read_attribute.listen
def read_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Judge the read of an attribute."""
    if name == "state":
        judge_sharer(m, instance)
    _judge_read(m, instance, name)
    _judge_choice(m, value)


@events.load_key.listen
def on_load_key(m: Trace, container: Dict, key: Hashable, value: Value) -> None:
    """Judge the read of the value under a key."""
    _judge_choice(m, value)


def _judge_read(m: Trace, owner: Frame | Object, name: str) -> None:
    """Report the read of a snapshot that is the trained module itself."""
    update = m.state[STALE_SNAPSHOTS].get((owner, name)) if m.state[STALE_SNAPSHOTS] else None
    if update is not None:
        m.refuse("snapshot", update)


def snapshot_of(m: Trace, tensor: Tensor) -> Snapshot | None:
    """Return the snapshot that a tensor is of, itself or as an alias: ``{k: v.detach() for k, v in items}``.

    That is of the time when the alias was taken.
    """
    found = m.state[SNAPSHOTS].get(tensor)
    if found is not None or not tensor.time or may_be_copy(m, tensor):
        return found
    every = [(of, each) for of, each in m.state[SNAPSHOTS].items() if each is not None]
    mine = [each for of, each in every if of.storage.memory is tensor.storage.memory and of.time <= tensor.time]
    last = max(mine, key=lambda each: each.time, default=None)
    return None if last is None else Snapshot(last.module, last.site, tensor.time, last.result)


def changes_of(m: Trace, memory: Storage, time: int) -> list[Update | Overwrite]:
    """Return the updates of a parameter after ``time``, and the writes to it."""
    return [*updates_of(m, memory, time), *since(m, Tensor(memory), time)]
