"""Two lists of the gradients of the same parameters, of which the older one shows what backward has added since.

``small = [p.grad for p in parameters]``, a backward, ``large = [p.grad for p in parameters]``: both have the same
tensors. One list alone may be kept to be updated, but nobody takes the second to read the first. So does what an
optimizer of the program keeps: ``state["momentum"] = p.grad`` is the gradient of the next step by then.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..heap.values import Dict, List, Tensor, Value
from ..trace import events
from ..trace.log import GRADIENTS, STORED, since
from ..trace.trace import Trace


@events.load.listen
def on_load(m: Trace, container: List | Dict, value: Value, known: bool) -> None:
    """Report a gradient that is read in the older of two lists, if a backward ran before the newer one was made.

    A step that reads what it kept has the present gradient at hand, and means the one that it kept.
    """
    gradient = m.see(value) if m.state[GRADIENTS] else None
    if not isinstance(gradient, Tensor) or m.state[GRADIENTS].get(gradient) is None:
        return
    if isinstance(container, Dict):
        kept = abs(m.state[STORED].get((container, gradient.storage), 0)) if m.stack.stepping is not None else 0
        for event in since(m, gradient, kept) if kept else ():
            if event.form == "accumulate":
                m.refuse("read", event.site, guard=event.guard)
                return
        return
    changes = [event for event in since(m, gradient, container.time) if event.form == "accumulate"]
    last = max((other.time for other in _lists(m, gradient) if other is not container), default=0)
    for event in [change for change in changes if change.time < last][:1]:
        m.refuse("read", event.site, guard=event.guard)


def _lists(m: Trace, gradient: Tensor) -> Iterator[List]:
    """Yield the lists with a gradient that the variables of the running functions have."""
    for frame in m.stack.frames:
        for held in map(m.see, frame.vars.values()):
            if isinstance(held, List) and any(m.see(item) is gradient for item in m.state.get(held).items):
                yield held
