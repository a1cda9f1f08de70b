"""Constants that each call of a function changes by a variable of its own: ``mean = MEAN.view(-1, 1)``, ``mean *= 2``.

They are variables of a module or of an enclosing function, entries of their tables, or attributes of a class; those of
an instance only where a view of them is changed. Whoever updates one on purpose mostly spells it: ``MEAN.mul_(0.9)``.

A ``default_factory`` that returns such a constant gives one tensor to all instances: ``self.total += x`` is for one.
So does a method that binds an attribute to it, ``self.state = START``: the next instance, or the next reset, begins
with what the last one has left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..heap.regions import base_of
from ..heap.state import Declared, same_or_none
from ..heap.values import NONE, Const, List, Object, Storage, Tensor, Tuple, Value
from ..program.site import Site
from ..trace import events
from ..trace.frames import Frame, members
from ..trace.log import ATTRIBUTE_WRITERS, WRITES, Overwrite, direct_tensors, given_tensors, is_record
from ..trace.reports import Need
from ..trace.trace import Trace
from . import replay
from .intent import attribute_written
from .tables import is_table

_LISTED = frozenset({"tensor", "array", "asarray"})
"""What makes a tensor or an array of the numbers in a list."""


DEFAULTS: Declared[Storage, Site | None] = Declared(same_or_none)
"""Where the memory was made that a ``default_factory`` gives to each instance."""


@events.default_made.listen
def on_default_made(m: Trace, made: Value, begin: int) -> None:
    """Note a tensor that a factory returned, and has not made. Weights are there to be shared."""
    for tensor in [each for each in direct_tensors(m, made) if not m.grad(each)]:
        origin = base_of(tensor).made
        if origin is not None and origin.time < begin and tensor.place is not None:
            m.state.set(m.state[DEFAULTS], tensor.storage, tensor.place)


@events.logged.listen
def on_logged(m: Trace, event: Overwrite) -> None:
    """Report the update of an attribute whose default all instances share. What only counts may be meant for all.

    Report that of an attribute, too, which a method has bound to a constant of the module: it begins there each time.
    """
    made = m.state[DEFAULTS].get(event.tensor.storage) if m.state[DEFAULTS] else None
    counts = all(isinstance(value, Const) for value in event.written.values)
    if counts or not replay.converts(event) or not attribute_written(event):
        return
    made = made or _begun_with(m, event)
    if made is not None:
        m.refuse("shared", event.site, guard=event.guard, other=made)


def _begun_with(m: Trace, event: Overwrite) -> Site | None:
    """Return where the numbers of a module were listed that an attribute of an instance was bound to."""
    frame, tensor = event.frames[-1], base_of(event.tensor)
    instance = frame.receiver
    if not isinstance(instance, Object) or event.form != "augmented":
        return None
    writer = m.state[ATTRIBUTE_WRITERS].get((instance, attribute_written(event)))
    if writer is None or writer[0].receiver is not instance or m.grad(tensor):
        return None
    of_module = bool(_held(m, frame.module().vars.values(), tensor.storage))
    return tensor.place if of_module and _is_listed(m, tensor) else None


@events.returns.listen
def on_return(m: Trace, args: Sequence[Value], result: Value, born: int, used: bool) -> None:
    """Report a constant that a call has changed and computed its result from: the next one starts from other values.

    What a function returns itself, and a single number, which may count, are to be updated.
    """
    frame = m.stack.frames[-1] if m.stack.frames and m.state[WRITES] else None
    if frame is None or frame.function is None or not args:
        return
    for log in m.state[WRITES].values():
        writes = [event for event in log if event.time > born] if log and log[-1].time > born else []
        if not writes or not all(_is_by_variable(event, frame) for event in writes) or _is_state(log, writes):
            continue
        made = _made(m, writes[0].tensor, frame)
        if made is None or not _shows(m, result, writes[0].tensor.storage.memory):
            continue
        for event in writes:
            needs = (Need("same", event.tensor.place),) if replay.may_be_copy(event) else ()
            m.refuse("shared", event.site, guard=event.guard, other=made, needs=needs)


def _is_by_variable(event: Overwrite, frame: Frame) -> bool:
    local = (event.name in frame.vars and event.name not in frame.outer) or not event.name
    return event.frames[-1] is frame and local and replay.rescales(event)


def _is_state(log: Sequence[Overwrite], writes: Sequence[Overwrite]) -> bool:
    """Whether something else in a function writes to what these writes change."""
    sites = {event.site.expression for event in writes}
    return any(event.site.expression not in sites and event.frames[-1].function is not None for event in log)


def _made(m: Trace, written: Tensor, frame: Frame) -> Site | None:
    """Return where the constant that was written to was made; None if it is none, or the function was given it."""
    function, owner, instance = frame.function, frame.owner, frame.receiver
    shared = _held(m, (value for _, value in members(owner)), written.storage) if owner is not None else []
    if isinstance(instance, Object) and (written.region is not None or written.origin in replay.CONVERTED):
        shared += _held(m, m.state.get(instance).items.values(), written.storage)
    around = _held(m, function.frame.vars.values(), written.storage) if function is not None else []
    tensor = next(iter((*shared, *around)), base_of(written))  # what was written to may be its `to(device)`
    place = tensor.place
    if place is None or m.grad(tensor) or _held(m, frame.given, written.storage):
        return None
    of_many = _is_listed(m, tensor) or is_table(m, tensor)
    return place if of_many and (shared or around or not place.piece.definition) else None


def _is_listed(m: Trace, tensor: Tensor) -> bool:
    """Whether a tensor, or the array over it, was made of several numbers in the text."""
    made = tensor.made
    given = made.values[:1] if made is not None and made.op in _LISTED else ()
    return any(isinstance(m.see(value), (List, Tuple)) for value in given)


def _held(m: Trace, values: Iterable[Value], storage: Storage) -> list[Tensor]:
    """Return the tensors of a storage among some values, and in lists, dictionaries and records among them."""
    return [found for value in values for found in given_tensors(m, value, NONE) if found.storage is storage]


def _shows(m: Trace, result: Value, memory: Storage) -> bool:
    """Whether a result was computed from what lies in a memory, and doesn't lie there itself, nor keeps it."""
    kept = isinstance(result, Object) and not is_record(result)
    if kept or any(found.storage.memory is memory for found in given_tensors(m, result, NONE)):
        return False
    return any(isinstance(source, Tensor) and source.storage.memory is memory for source in replay.sources(m, result))
