"""What a function adds up in the first of the elements that it was given in a list, and which is read afterwards.

``total = states[0]``, ``total[key].add_(other[key])``: a ``state_dict()`` holds the parameters themselves, so that the
first module has the sum. What is loaded into it afterwards puts that right. ``total = grads[0]`` and
``total += grad`` make the first gradient the sum. So do losses that a function adds up in the first of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ..heap.regions import base_of
from ..heap.state import Declared, same_or_none
from ..heap.values import NONE, Dict, Grad, List, Object, Source, Storage, Tensor, Tuple, Value
from ..program.site import Site
from ..torchfacts.kinds import ADDING, SCALING
from ..trace import events, holdings
from ..trace.log import ENTRIES, WRITES, Overwrite, array_backing, direct_tensors, given_tensors, since, spelled
from ..trace.trace import Trace
from .known import is_result
from .snapshots import SNAPSHOTS

MERGED: Declared[Storage, Overwrite | None] = Declared(same_or_none)
"""Where parameters of other modules were added to a parameter, by its state."""

SUMS: Declared[tuple[Value, Tensor], Overwrite | None] = Declared(same_or_none)
"""Where other elements, also of other such containers, were added to one in a list or dictionary, by both."""


@events.returns.listen
def on_return(m: Trace, args: Sequence[Value], result: Value, born: int, used: bool) -> None:
    """Note the parameters that a function overwrote by their states, which it was given in a list, for its result."""
    if not used or not m.state[WRITES] or not m.state[SNAPSHOTS]:
        return
    given = {item for arg in args for item in _dictionaries(m, m.see(arg))}
    entries = [m.see(entry) for item in given for entry in m.state.get(item).items.values()]
    held = {entry for entry in entries if isinstance(entry, Tensor)}
    for tensor, taken in list(m.state[SNAPSHOTS].items()) if given else ():
        for event in since(m, tensor, born) if taken is not None else ():
            through = spelled(m, event)  # whose entry may be another one by now
            if (tensor in held or through in given) and _is_sum(m, tensor, event):
                m.state.set(m.state[MERGED], tensor.storage, event)


def _dictionaries(m: Trace, value: Value) -> Iterator[Dict]:
    """Yield the dictionaries in a list, and those in its tuples: ``[(state, count), ...]``."""
    for item in map(m.see, m.state.get(value).items) if isinstance(value, List) else ():
        for part in map(m.see, item.items) if isinstance(item, Tuple) else (item,):
            if isinstance(part, Dict):
                yield part


def _is_sum(m: Trace, tensor: Tensor, event: Overwrite) -> bool:
    """Whether a write added the state of another module to a tensor."""
    return event.written.op.removesuffix("_") in ADDING and _of_another(m, tensor, event)


def _of_another(m: Trace, tensor: Tensor, event: Overwrite) -> bool:
    """Whether what was added to a tensor is in the state of another module."""
    own = m.state[SNAPSHOTS].get(tensor)
    added = [m.state[SNAPSHOTS].get(each) for each in _added(m, event)]
    return own is not None and any(other is not None and other.module is not own.module for other in added)


@events.returns.listen
def on_sum(m: Trace, args: Sequence[Value], result: Value, born: int, used: bool) -> None:
    """Note an element of a list to which a function added others of that list, by a variable, for its result.

    Of lists or dictionaries in a list, such as the gradients of several workers, it may add up those in the first.
    """
    if not used or not m.state[WRITES]:
        return
    for given in [each for each in map(m.see, args) if isinstance(each, List) and each is not m.see(result)]:
        _note_sums(m, given, _tensors(m, given), born)
        rows = [each for each in map(m.see, m.state.get(given).items[:ENTRIES]) if isinstance(each, (List, Dict))]
        wanted = _made_of(m, result) if len(rows) > 1 else set()
        for row in rows if wanted else ():
            others = [tensor for other in rows if other is not row for tensor in _tensors(m, other)]
            _note_sums(m, row, others, born, wanted)


def _tensors(m: Trace, container: List | Dict) -> list[Tensor]:
    held = m.state.get(container).items if isinstance(container, List) else m.state.get(container).items.values()
    items = [array_backing(m.see(item)) for item in list(held)[:ENTRIES]]
    return [item for item in items if isinstance(item, Tensor)]


def _made_of(m: Trace, result: Value) -> set[Value]:
    """Return the tensors that a result has or holds, and those that they were computed from."""
    held = list(given_tensors(m, m.see(result), NONE, 1))
    origins = [base_of(tensor).made for tensor in held]
    return {*held, *(array_backing(m.see(value)) for made in origins if made is not None for value in made.values)}


def _note_sums(
    m: Trace, container: List | Dict, every: Sequence[Tensor], born: int, wanted: Collection[Value] | None = None
) -> None:
    """Note the elements of a container to which others were added; of those that are ``wanted``, if it is given."""
    for tensor in _tensors(m, container):
        for event in since(m, tensor, born) if wanted is None or tensor in wanted else ():
            if _adds_up(m, event, tensor, [each for each in every if each is not tensor]):
                m.state.set(m.state[SUMS], (container, tensor), event)


def _adds_up(m: Trace, event: Overwrite, tensor: Tensor, others: Sequence[Value]) -> bool:
    """Whether a write that is spelled with a variable for one element adds other elements to it, scaled or not."""
    by = array_backing(spelled(m, event))
    adds = event.written.op.removesuffix("_") in ADDING and event.written.index is None
    return adds and by is tensor and any(each in others for each in _added(m, event))


def _added(m: Trace, event: Overwrite) -> list[Tensor]:
    """Return the tensors that a write adds, and those that it adds multiples of."""
    added = [each for value in event.written.values for each in direct_tensors(m, value)]
    scaled = [each.made for each in added if each.made is not None and each.made.op in SCALING]
    return added + [each for made in scaled for value in made.values for each in direct_tensors(m, value)]


@events.load.listen
def on_load(m: Trace, container: List | Dict, value: Value, known: bool) -> None:
    """Report the read of an element that a function has added the others to."""
    tensor = array_backing(m.see(value)) if m.state[SUMS] else NONE
    event = m.state[SUMS].get((container, tensor)) if isinstance(tensor, Tensor) else None
    if event is not None and known and m.stack.frames[-1] is not event.frames[-1] and not is_result(m, container):
        m.refuse("argument", event.site, guard=event.guard)
    if known and m.stack.frames:
        _judge_sum(m, container, array_backing(m.see(value)))


def _judge_sum(m: Trace, container: List | Dict, loss: Value) -> None:
    """Report the read of a loss in a container, if the function that reads it has added the other losses to it.

    For example ``loss = losses["mse"]``, ``loss += losses["l1"]`` and ``losses["mse"].item()``. A buffer may be there
    to have the sum. What was computed for a backward is not.
    """
    if not isinstance(loss, Tensor) or loss.storage not in m.state[WRITES]:
        return
    state = m.cell(loss)
    if loss.origin is not Source.COMPUTED or state.grad is not Grad.YES or state.leaf:
        return
    items = _tensors(m, container)
    if items.count(loss) == 1:
        others = [item for item in items if item is not loss]
        for event in since(m, loss, container.time):
            if event.frames[-1] is m.stack.frames[-1] and _adds_up(m, event, loss, others):
                m.refuse("read", event.site, guard=event.guard)


@events.load_state_dict.listen
def on_load_state_dict(m: Trace, module: Value, states: Value, parameters: Sequence[Tensor], site: Site) -> None:
    """Forget what was added to a module that gets another state."""
    for tensor in parameters if m.state[MERGED] else ():
        m.state.set(m.state[MERGED], tensor.storage, None)


@events.call_instance.listen
def on_call(m: Trace, instance: Object, site: Site) -> None:
    """Report the call of a module that others were added to."""
    for tensor in holdings.parameters(m, instance) if m.state[MERGED] else ():
        event = m.state[MERGED].get(tensor.storage)
        if event is not None:
            m.refuse("argument", event.site, guard=event.guard)


@events.read_attribute.listen
def on_read(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Report the read of a parameter that others were added to: ``client.model.weight``."""
    tensor = m.see(value) if m.state[MERGED] else NONE
    event = m.state[MERGED].get(tensor.storage) if isinstance(tensor, Tensor) else None
    if event is not None:
        m.refuse("argument", event.site, guard=event.guard)
