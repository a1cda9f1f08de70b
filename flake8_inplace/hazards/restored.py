"""An attribute that is given back a tensor it still has: what was kept of it shows all that was written since.

``kept = cache.keys`` is no copy, and no tuple with it is one. ``cache.keys[i] = key`` overwrites what was kept, and
``cache.keys = kept`` undoes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..heap.values import Object, Tensor, Tuple, Value
from ..trace import events
from ..trace.log import WRITES, array_backing, direct_tensors, since
from ..trace.trace import Trace
from .intent import assigned_from, attribute_written, gives_itself


@events.set_attribute.listen
def on_set_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Report the writes to an attribute since a variable took the tensor that the attribute is now given back.

    A write that is spelled with the variable is meant to be seen through it.
    """
    if not m.state[WRITES] or not m.stack.frames or m.state.get(instance).items.get(name) is not value:
        return
    if gives_itself(m, name, value):
        return
    tensor, frame = array_backing(m.see(value)), m.stack.frames[-1]
    for variable in sorted(assigned_from(frame).intersection(frame.vars)) if isinstance(tensor, Tensor) else ():
        held = m.see(frame.vars[variable])
        if isinstance(tensor, Tensor) and isinstance(held, (Tensor, Tuple)) and tensor in direct_tensors(m, held):
            for event in since(m, tensor, min(_bound(m, held))):
                if attribute_written(event) == name:
                    m.refuse("read", event.site, guard=event.guard)


def _bound(m: Trace, held: Value) -> Iterator[int]:
    """Yield when the variables of all running functions were bound to a value."""
    for frame in m.stack.frames:
        for name, value in frame.vars.items():
            if m.see(value) is held:
                yield frame.bound(name)
