"""Two lists of the gradients of the same parameters, of which the older one shows what backward has added since.

``small = [p.grad for p in parameters]``, a backward, ``large = [p.grad for p in parameters]``: both have the same
tensors. One list alone may be kept to be updated, but nobody takes the second to read the first. So does what an
optimizer of the program keeps: ``state["momentum"] = p.grad`` is the gradient of the next step by then.

A gradient that was taken before ``zero_grad(set_to_none=False)`` and is read first after it was to keep its values:
there is nothing in it but zeros, until the next backward.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..heap.values import Dict, List, Tensor, Value
from ..trace import events
from ..trace.frames import Frame
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
    _judge_zeros(m, gradient, abs(m.state[STORED].get((container, gradient.storage), 0)) or container.time)
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


@events.read_variable.listen
def on_read_variable(m: Trace, name: str, value: Value, frame: Frame, index: tuple[Value, ...]) -> None:
    """Report the first read of a variable with a gradient that was set to zero since it was bound."""
    gradient = m.see(value) if m.state[GRADIENTS] else None
    if not isinstance(gradient, Tensor) or m.state[GRADIENTS].get(gradient) is None or name not in frame.times:
        return
    taken = frame.bound(name)
    if frame.reads.get(name, 0) < taken and not (frame.loops and frame.loops[-1].began > taken):
        _judge_zeros(m, gradient, taken)


def _judge_zeros(m: Trace, gradient: Tensor, time: int) -> None:
    """Report ``zero_grad(set_to_none=False)``, if it is what a gradient was overwritten by last since ``time``."""
    changes = since(m, gradient, time) if time > 0 else []
    if changes and changes[-1].form == "accumulate" and changes[-1].written.op == "zero_":
        m.refuse("read", changes[-1].site, guard=changes[-1].guard)


def _lists(m: Trace, gradient: Tensor) -> Iterator[List]:
    """Yield the lists with a gradient that the variables of the running functions have."""
    for frame in m.stack.frames:
        for held in map(m.see, frame.vars.values()):
            if isinstance(held, List) and any(m.see(item) is gradient for item in m.state.get(held).items):
                yield held
