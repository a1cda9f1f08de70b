"""What changed a tensor: writes, and updates of parameters."""

from __future__ import annotations

from collections.abc import Iterator

from ..heap.regions import unshaped
from ..heap.values import Grad, Tensor
from ..trace.log import RETURNED, Overwrite, direct_tensors, since
from ..trace.trace import Trace
from .overlap import untouched
from .snapshots import Update, updates, updates_of


def changes(
    m: Trace, tensor: Tensor, begin: int, end: int = 0, asked_for: bool = False
) -> Iterator[Overwrite | Update]:
    """Yield what changed a tensor. ``asked_for``: also what a function was called to write."""
    writes = [event for event in since(m, tensor, begin, end) if asked_for or not _was_asked_for(m, event)]
    yield from (event for event in writes if not is_aside(m, tensor, event))
    if is_parameter(m, tensor):
        yield from (update for update in updates_of(m, tensor.storage, begin) if update.time <= end or not end)


def is_aside(m: Trace, tensor: Tensor, event: Overwrite) -> bool:
    """Whether a write went to another part of what a view was taken of: to ``x[1]``, where the view is ``x[0]``."""
    region = unshaped(tensor).region
    return region is not None and untouched(m, region.base, region.index, event)


def _was_asked_for(m: Trace, event: Overwrite) -> bool:
    """Whether a function overwrote its argument, and nothing says that its caller doesn't know."""
    inner = event.frames[-1]
    given = [tensor.storage for value in inner.given for tensor in direct_tensors(m, value)]
    called = inner is not m.stack.frames[-1] and event.tensor.storage in given
    return called and m.state[RETURNED].get(event) is None


def is_parameter(m: Trace, tensor: Tensor) -> bool:
    """Whether a tensor is a parameter, or a name without history for one that an optimizer has updated."""
    state = m.cell(tensor)
    return (state.grad is Grad.YES and state.leaf) or any(tensor.storage.memory in each.memory for each in updates(m))
