"""Instances of one class that were given one tensor, which each updates as its own: ``[Walker(x) for _ in range(n)]``.

Whoever looks at the attribute of one instance, and then of another, takes them for two tensors.
"""

from __future__ import annotations

from ..heap.state import Declared, union
from ..heap.values import Const, Object, Storage, Tensor, Value
from ..trace import events
from ..trace.log import WRITES, Overwrite, array_backing
from ..trace.trace import Trace
from .changes import is_parameter
from .intent import attribute_written

UPDATED: Declared[tuple[Storage, str], frozenset[Object]] = Declared(union)
"""The instances that have updated a tensor by an attribute, by its memory and name; what only counts is left out."""
SHOWN: Declared[tuple[Storage, str], frozenset[Object]] = Declared(union)
"""Those of them whose attribute was then read by other code than that of their class."""


@events.logged.listen
def on_logged(m: Trace, event: Overwrite) -> None:
    """Note an instance that updates all of its attribute."""
    instance, name = event.frames[-1].receiver, "" if event.name else attribute_written(event)
    counts = all(isinstance(value, Const) for value in event.written.values)
    if not name or not isinstance(instance, Object) or event.filled or counts or event.written.index is not None:
        return
    key = (event.tensor.storage, name)
    m.state.set(m.state[UPDATED], key, m.state[UPDATED].get(key, frozenset()) | {instance})


@events.read_attribute.listen
def on_read_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Report a tensor that several instances have updated, once it is read as the attribute of a second one."""
    tensor = array_backing(value) if m.state[UPDATED] else None
    if not isinstance(tensor, Tensor) or not m.stack.frames:
        return
    key, reader = (tensor.storage, name), m.stack.frames[-1].receiver
    found = [each for each in m.state[UPDATED].get(key, frozenset()) if each.cls is instance.cls]
    inside = isinstance(reader, Object) and reader.cls is instance.cls
    if inside or instance not in found or len(found) < 2 or is_parameter(m, tensor):
        return
    shown = m.state[SHOWN].get(key, frozenset()) | {instance}
    m.state.set(m.state[SHOWN], key, shown)
    writes = [event for event in m.state[WRITES].get(tensor.storage, ()) if event.frames[-1].receiver in found]
    if len(shown) > 1 and writes:
        m.refuse("shared", writes[0].site, guard=writes[0].guard, other=tensor.place)
