"""An attribute that is given back a tensor it still has: what was kept of it shows all that was written since.

``kept = cache.keys`` is no copy, and no tuple with it is one. ``cache.keys[i] = key`` overwrites what was kept, and
``cache.keys = kept`` undoes nothing. No more does ``cache.keys = list(kept)``, where ``kept`` is ``tuple(cache.keys)``.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..heap.values import NONE, Array, List, Object, Tensor, Tuple, Value
from ..trace import events
from ..trace.log import ENTRIES, WRITES, direct_tensors, since
from ..trace.trace import Trace
from .intent import assigned_from, attribute_written, gives_itself


@events.set_attribute.listen
def on_set_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Report the writes to an attribute since a variable took the tensor that the attribute is now given back.

    A write that is spelled with the variable is meant to be seen through it.
    """
    if not m.state[WRITES] or not m.stack.frames:
        return
    has, frame = _tensors(m, m.state.get(instance).items.get(name, NONE)), m.stack.frames[-1]
    tensors = [tensor for tensor in _tensors(m, value) if tensor in has]
    if not tensors or gives_itself(m, name, value):
        return
    for variable in sorted(assigned_from(frame).intersection(frame.vars)):
        held = m.see(frame.vars[variable])
        kept = direct_tensors(m, held) if isinstance(held, (Tensor, Array, Tuple)) else []
        for tensor in [each for each in tensors if each in kept]:
            for event in since(m, tensor, min(_bound(m, held))):
                if attribute_written(event) == name:
                    m.refuse("read", event.site, guard=event.guard)


def _tensors(m: Trace, value: Value) -> list[Tensor]:
    """Return the tensor that an attribute has, or the elements of a list or tuple."""
    value = m.see(value)
    items = m.state.get(value).items[:ENTRIES] if isinstance(value, List) else [value]
    return [tensor for item in items for tensor in direct_tensors(m, item)]


def _bound(m: Trace, held: Value) -> Iterator[int]:
    """Yield when the variables of all running functions were bound to a value, or to a tuple with it."""
    for frame in m.stack.frames:
        for name, value in frame.vars.items():
            found = m.see(value)
            if found is held or (isinstance(found, Tuple) and any(m.see(item) is held for item in found.items)):
                yield frame.bound(name)
