"""What an entry point hands out: an element of its result was overwritten since it was put there.

The code that reads the result is not shown. A write that only this code can see may be meant for it: after
``rows.append(x)``, ``x /= 2`` finishes the element. A program that goes on with what the write left has another use for
it, and the element was to keep the old values: ``features.append(x)``, ``x = self.act(x)``, ``x = self.layer(x)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..heap.regions import base_of
from ..heap.state import Declared, latest
from ..heap.values import NONE, Choice, Dict, List, Object, Source, Storage, Tensor, Tuple, Value, View
from ..trace import events
from ..trace.frames import Frame
from ..trace.log import STORED, WRITES, Overwrite, array_backing, direct_tensors, since, spelled, whole
from ..trace.trace import Trace
from .intent import is_bound_with_holder, is_operand, is_spelled_as_held, is_statement
from .snapshots import may_be_copy

DEPTH = 3
"""How deep the containers of a result are searched."""
LAST_USED: Declared[Storage, int] = Declared(latest)
"""When a variable with a tensor of memory that was overwritten was last read."""


@events.read_variable.listen
def on_read_variable(m: Trace, name: str, value: Value, frame: Frame, index: tuple[Value, ...]) -> None:
    """Note when a program last used what a write left."""
    for tensor in direct_tensors(m, value) if m.state[WRITES] else ():
        if tensor.storage in m.state[WRITES]:
            m.state.set(m.state[LAST_USED], tensor.storage, m.tick())


@events.returns.listen
def on_return(m: Trace, args: Sequence[Value], result: Value, born: int, used: bool) -> None:
    """Judge what an entry point hands out: its result, and what its object has from now on."""
    if len(m.stack.calls) > 1 or not m.state[WRITES]:
        return
    for tensor, time in _elements(m, result, NONE, DEPTH):
        _judge(m, tensor, time if time > born else 0, False)  # an older list is one that it was given
    receiver = m.stack.frames[-1].receiver
    for name, value in m.state.get(receiver).items.items() if isinstance(receiver, Object) else ():
        held = array_backing(m.see(value))
        if isinstance(held, Tensor):
            _judge(m, held, m.state[STORED].get((receiver, name), 0), True)
        for tensor, time in _elements(m, held, NONE, DEPTH):
            _judge(m, tensor, time, False)


def _judge(m: Trace, tensor: Tensor, time: int, named: bool) -> None:
    """Report what was overwritten for another use since somebody keeps it.

    An attribute is another name for the tensor. A statement that only changes it may be meant for both: ``x /= n``.
    """
    for event in since(m, tensor, time) if time > 0 else ():
        meant = is_spelled_as_held(m, event) or (named and is_statement(event)) or _is_taken_out(event, time)
        meant = meant or is_bound_with_holder(m, event.frames[-1], event.name)
        if not meant and _is_kept(m, tensor, event) and goes_on(m, event):
            m.refuse("handed", event.site, guard=event.guard)


def _elements(m: Trace, value: Value, container: Value, depth: int) -> Iterator[tuple[Tensor, int]]:
    """The tensors in the lists and dictionaries of a value, and since when these have them.

    The time is not positive if the program has read the element, and if it is not known.
    """
    value = array_backing(m.see(value))
    inside: Iterable[Value] = ()
    if isinstance(value, Tensor) and isinstance(container, (List, Dict)):
        shown = container.time if isinstance(container, List) and value in container.initial.items else 0
        yield value, m.state[STORED].get((container, value.storage), 0) or shown
    elif isinstance(value, Choice):
        inside = [option for _, option in value.options]
    elif isinstance(value, Tuple):
        inside = value.items
    elif isinstance(value, List):
        container, inside = value, m.state.get(value).items
    elif isinstance(value, Dict):
        container, inside = value, m.state.get(value).items.values()
    for item in inside if depth else ():
        yield from _elements(m, item, container, depth - 1)


def _is_taken_out(event: Overwrite, time: int) -> bool:
    """Whether a loop took the tensor out of what kept it, to overwrite it there: ``for row in rows: row /= 2``."""
    frame = event.frames[-1]
    return event.name in frame.elements and frame.held(event.name) > time


def _is_kept(m: Trace, tensor: Tensor, event: Overwrite) -> bool:
    """Whether an element was computed, or is an alias of such a tensor (``x.cpu()``), and all of it overwritten."""
    written = event.tensor
    if tensor.origin is Source.COMPUTED:
        return base_of(tensor).origin is Source.COMPUTED and whole(tensor, event)
    alias = tensor.time and tensor.view in (View.NONE, View.NO_GRAD) and not may_be_copy(m, tensor)
    return bool(alias) and written.origin is Source.COMPUTED and written.view is View.NONE


def goes_on(m: Trace, event: Overwrite) -> bool:
    """Whether the program used what a write left: by a variable, or in the expression that the write is a part of.

    What a layer of a ``Sequential`` is given has no name, and the next layer gets what the layer left.
    """
    if m.state[LAST_USED].get(event.tensor.storage, 0) > event.time or is_operand(event):
        return True
    given = direct_tensors(m, spelled(m, event))
    return event.form == "inplace" and all(tensor.storage is not event.tensor.storage for tensor in given)
