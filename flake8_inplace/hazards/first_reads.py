"""The first read of a variable that took a view, or an attribute's tensor, before the memory was overwritten.

A view that is bound before a write and read only after it was to keep the old values: for the new ones it could have
been taken afterwards. So was a name for an attribute that is read beside it: ``(x - old) * (x - self.mean)``. A
function that the base is given to may have overwritten it too. A view that is read before the write too, or bound
outside the loop, may be a window on memory that changes, unless the new values of the base were computed from it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..heap.autograd import compatible
from ..heap.regions import DEPTH, base_of, plain, same_tensor, share, whole_of
from ..heap.values import (
    ALWAYS,
    UNCERTAIN,
    Choice,
    Dict,
    Grad,
    Guard,
    Object,
    Source,
    Tensor,
    Value,
    View,
    is_number,
)
from ..torchfacts import kinds
from ..trace import events
from ..trace.frames import Frame
from ..trace.log import (
    ATTRIBUTE_WRITERS,
    RETURNED,
    STORED,
    WRITES,
    Overwrite,
    array_backing,
    direct_tensors,
    fills,
    since,
    since_in_memory,
    spelled,
    whole,
)
from ..trace.trace import Trace
from .intent import attribute_written, is_bound_with_holder, reads_what_it_wrote, writes_through
from .overlap import written_region


@events.read_variable.listen
def read_first(m: Trace, name: str, value: Value, frame: Frame, index: tuple[Value, ...]) -> None:
    """Report the first read of a variable if its memory was overwritten since it was bound in the same function."""
    taken = frame.bound(name) if name in frame.times else 0
    if not taken or frame not in m.stack.frames[-1:]:
        return
    if (frame.loops and frame.loops[-1].began > taken) or name in frame.elements:
        return
    for guard, tensor in _tensors(m, value):
        writes = _since(m, tensor, taken)
        written = any(event.name == name and event.frames[-1] is frame for event in writes)
        for event in writes:
            # The value that is read was written by the same variable: a short name for an attribute, ``h = self.h``.
            own = event.frames[-1] is frame and (event.name == name or (written and event.tensor is tensor))
            if own or event.form == "out" or not compatible(event.guard, guard):
                continue
            if not _judge(m, name, tensor, frame, event, taken):
                return


@events.read_attribute.listen
def read_first_of(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Report the first read of an attribute that the same function has bound, as that of a variable."""
    writer, first = m.state[ATTRIBUTE_WRITERS].get((instance, name)), m.state[STORED].get((instance, name), 0) > 0
    frame = m.stack.frames[-1] if m.stack.frames else None
    if writer is None or not first or writer[0] is not frame or (frame.loops and frame.loops[-1].began > writer[1]):
        return
    for guard, tensor in _tensors(m, value):
        for event in _since(m, tensor, writer[1]):
            own = event.frames[-1] is frame and attribute_written(event) == name
            if not own and event.form != "out" and compatible(event.guard, guard):
                _judge(m, "", tensor, frame, event, writer[1])


def _judge(m: Trace, name: str, tensor: Tensor, frame: Frame, event: Overwrite, taken: int) -> bool:
    """Report a write that loses what a variable was bound to. False if the variable is written through by this line.

    An attribute has no ``name``, and is read for the first time.
    """
    here, emptied = event.frames[-1] is frame, is_emptied(m, event, frame)
    if not (here or emptied or _in_call(m, event, frame)):
        return True
    if writes_through(frame.line, name):
        return False
    wanted = (here and reads_what_it_wrote(frame.line, event)) or _is_made_of(event, tensor)
    if frame.reads.get(name, 0) < taken or wanted:
        loses = (emptied and whole(tensor, event)) or _loses(m, tensor, event)
        if loses and _has_content(m, tensor, event, taken) and not is_bound_with_holder(m, frame, name):
            m.refuse("read" if here or emptied else "argument", event.site, guard=event.guard)
    return True


def _since(m: Trace, tensor: Tensor, taken: int) -> list[Overwrite]:
    """The writes to a tensor since then; to ``x.data`` or ``x.detach()`` also those by another ``x.data``."""
    if not tensor.time:
        return since(m, tensor, taken)
    return [event for event in since_in_memory(m, tensor, taken) if not _is_alias_of(event.tensor, tensor)]


def _is_alias_of(tensor: Tensor, base: Tensor) -> bool:
    """Whether a tensor was taken of another one: ``base.data``, ``base.detach()``."""
    while tensor.made is not None and tensor.made.op == "detach" and isinstance(of := tensor.made.values[0], Tensor):
        if of is base:
            return True
        tensor = of
    return False


def _in_call(m: Trace, event: Overwrite, frame: Frame) -> bool:
    """Whether a function overwrote what this one gave it, and returned something that doesn't tell of it."""
    return frame in event.frames and m.state[RETURNED].get(event) is not None


def is_emptied(m: Trace, event: Overwrite, frame: Frame) -> bool:
    """Whether a called method left numbers in all of an attribute: ``totals = meter.totals()``, ``meter.reset()``."""
    sure = frame in event.frames and event.guard <= m.state.guard() and event.written.index is None
    return sure and _is_constant(event) and bool(attribute_written(event))


def _is_made_of(event: Overwrite, view: Tensor) -> bool:
    """Whether the new values of a write to the base were computed from a view, element by element: ``x /= var.sqrt()``.

    Such a view was taken for the values of the time, however often it was read for them. One that only a scale was
    computed from, ``x /= part.max()``, may be wanted with the new values.
    """
    if event.form not in ("augmented", "op_") or view.region is None:
        return False
    return any(_follows(value, view) for value in event.written.values)


def _follows(value: Value, view: Tensor, depth: int = DEPTH) -> bool:
    """Whether a tensor, or a part of it, was computed from another one element by element."""
    if value is view or not isinstance(value, Tensor):
        return value is view
    made = base_of(value).made
    if made is None or made.op not in kinds.ELEMENTWISE or not depth:
        return False
    return any(_follows(operand, view, depth - 1) for operand in made.values)


def _tensors(m: Trace, value: Value) -> Iterator[tuple[Guard, Tensor]]:
    for guard, option in value.options if isinstance(value, Choice) else ((ALWAYS, value),):
        tensor = array_backing(m.see(option))
        if isinstance(tensor, Tensor):
            yield guard, tensor


def _has_content(m: Trace, tensor: Tensor, event: Overwrite, time: int) -> bool:
    """Whether something was in a memory: it was not only made to be filled."""
    if not fills(event.tensor, event.written) and event.written.op != "setitem":
        return True
    tensor = base_of(tensor)
    written = any(event.time < time for event in m.state[WRITES].get(tensor.storage, ()))
    return written or tensor.origin is not Source.BLANK


def _loses(m: Trace, value: Tensor, event: Overwrite) -> bool:
    """Whether a write by another name surely replaced the values that a variable took."""
    state = m.cell(value)
    by_attribute = not event.name and bool(attribute_written(event))
    apart = by_attribute or isinstance(spelled(m, event), Dict)
    if value.origin in UNCERTAIN or (state.grad is Grad.YES and state.leaf):
        return False
    here = event.frames[-1] is m.stack.frames[-1]  # a method that writes to all of an attribute: `hazards.stale` judges
    if (event.tensor is value and not (apart and here)) or (not event.name and not by_attribute):
        return False
    if any(option is value for new in event.written.values for option in direct_tensors(m, new)):
        return False
    if value.region is None or value.view is View.EXPANDED:
        return apart and value.view is View.NONE and event.written.index is None and whole(value, event)
    if value.region.reshaped or not plain(value.region.index):
        return _is_constant(event) and _covers(value, event)  # a name for the whole mostly means the whole
    return _covers(value, event)


def _is_constant(event: Overwrite) -> bool:
    """Whether a write left numbers: nothing is in them that somebody could want to read."""
    written = event.written
    return written.op == "zero_" or (written.op in ("fill_", "setitem") and all(map(is_number, written.values)))


def _covers(value: Tensor, event: Overwrite) -> bool:
    """Whether a write to a base surely changed a view of it: to the whole, or to a part that it shares."""
    target, index = event.tensor, plain(event.written.index or ())
    view = value
    while view.region is not None:
        if not index and (view.region.base is target or same_tensor(view.region.base, whole_of(target))):
            return True
        view = view.region.base
    over = written_region(event)
    if value.region is None or over is None or not same_tensor(value.region.base, over[0]):
        return False
    return bool(plain(over[1])) and share(value.region.index, over[1])
