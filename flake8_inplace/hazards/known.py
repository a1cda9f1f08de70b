"""Predicates that silence stale reads: the values show that whoever reads knows about the write."""

from __future__ import annotations

from collections.abc import Sequence

from ..heap.autograd import compatible
from ..heap.regions import base_of
from ..heap.state import Declared, same_or_none, union
from ..heap.values import NONE, Dict, Grad, List, Source, Storage, Tensor, Value, constant
from ..trace import events
from ..trace.frames import Frame
from ..trace.log import ENTRIES, WRITES, Overwrite, direct_tensors, given_tensors, since
from ..trace.trace import Trace
from .intent import spelled_with

FOUND: Declared[Overwrite, frozenset[Storage]] = Declared(union)
"""The results of a function that it computed from an argument after a write to it, by the write."""
PART: Declared[Value, tuple[int, List] | None] = Declared(same_or_none)
"""When a function returned a list or dictionary in one that it was given, which it had overwritten an element of."""
DEPTH = 6
"""How many operators lie between what was overwritten and what is computed from it: ``x.topk(k)[1] + 1``."""
_FILLING = frozenset({"setitem", "fill_", "zero_", "copy_"})
"""Operators that leave the same values if they run twice."""


@events.returns.listen
def on_return(m: Trace, args: Sequence[Value], result: Value, born: int, used: bool) -> None:
    """Note the results that a function computed from what it had overwritten."""
    results = direct_tensors(m, result) if used and m.state[WRITES] else []
    every = [tensor for arg in args for tensor in direct_tensors(m, arg)] if results else []
    given = frozenset(tensor.storage for tensor in every)
    for event in dict.fromkeys(event for tensor in every for event in since(m, tensor, born)):
        found = frozenset(each.storage for each in results if _is_computed(m, each, event, given, DEPTH))
        if found:
            m.state.set(m.state[FOUND], event, m.state[FOUND].get(event, frozenset()) | found)


@events.returns.listen
def on_part(m: Trace, args: Sequence[Value], result: Value, born: int, used: bool) -> None:
    """Note a list or dictionary that a function was given in another one, changed and returned."""
    outcome = m.see(result) if used and m.state[WRITES] else None
    if not isinstance(outcome, (List, Dict)):
        return
    for around in [each for each in map(m.see, args) if isinstance(each, List)]:
        inside = any(m.see(item) is outcome for item in m.state.get(around).items[:ENTRIES])
        if inside and any(since(m, tensor, born) for tensor in given_tensors(m, outcome, NONE, 1)):
            m.state.set(m.state[PART], outcome, (m.tick(), around))


def is_result(m: Trace, container: Value) -> bool:
    """Whether a list or dictionary is read by the name that the caller gave to the result of the call that changed it.

    In ``mean = added(grads)`` it may be ``grads[0]``; who reads ``mean``, and not ``grads``, wants the sums.
    """
    returned = m.state[PART].get(container)
    frame = m.stack.frames[-1] if returned is not None and m.stack.frames else None
    if returned is None or frame is None:
        return False
    time, around = returned
    held = [name for name, value in frame.vars.items() if m.see(value) is container]
    names, here = sorted((name for name in held if frame.bound(name) > time), key=frame.bound), m.here()
    if here is None:  # a loop takes the next element
        return len(names) == 1
    others = [name for name, value in frame.vars.items() if m.see(value) is around or name in held]
    return spelled_with(here, names[:1]) and not spelled_with(here, [name for name in others if name not in names[:1]])


def _is_computed(m: Trace, tensor: Tensor, event: Overwrite, given: frozenset[Storage], depth: int) -> bool:
    """Whether a tensor was computed from one that was overwritten, after that, or from nothing that is known."""
    made, memory = base_of(tensor).made, event.tensor.storage
    if made is None or not depth or tensor.storage is memory:
        return tensor.storage not in given
    operands = [each for value in made.values for each in direct_tensors(m, value)]
    read = made.time >= event.time and any(each.storage is memory for each in operands)
    return read or any(_is_computed(m, each, event, given, depth - 1) for each in operands)


def is_looked_up(m: Trace, index: Sequence[Value], event: Overwrite) -> bool:
    """Whether an index is what a function found in a tensor that it overwrote: ``best = f(x)``, ``x[best]``.

    The place is that of a value as the function left it, so that is the value which is wanted.
    """
    found = m.state[FOUND].get(event, frozenset()) if index else frozenset()
    return any(tensor.storage in found for value in index for tensor in direct_tensors(m, value))


def gets_the_same(m: Trace, value: Tensor, event: Overwrite, name: str, frame: Frame) -> bool:
    """Whether two names for a tensor get the same values at the same place: ``x[bad] = 0`` and ``y[bad] = 0``.

    Whether or not the two are one tensor, both are to have these.
    """
    if event.written.op not in _FILLING or event.name == name:
        return False
    taken, guard = frame.held(name), m.state.guard()
    others = [other for other in m.state[WRITES].get(value.storage, ()) if other.name == name and other.time > taken]
    here = [other for other in others if other.frames[-1] is frame and compatible(other.guard, guard)]
    return any(writes_the_same(event, other) for other in here)


def writes_the_same(one: Overwrite, other: Overwrite) -> bool:
    """Whether two writes put the same values in the same place."""
    both = (one.written, other.written)
    return both[0].op == both[1].op and both[0].index == both[1].index and both[0].values == both[1].values


def is_of_call(m: Trace, container: Value | None, event: Overwrite, held: int = 0) -> bool:
    """Whether a call that made a write has made the list too, and gave it to its caller: ``out = list(rows)``.

    So it is if the call put the tensor there, at ``held``: ``batch = {"ids": ids}`` and ``batch["ids"][mask] = 0``.
    """
    begun = (container.time, held) if isinstance(container, List) else (held,)
    ended = [frame for frame in event.frames if frame not in m.stack.frames]
    return any(frame.born < time < event.time for frame in ended for time in begun)


def fills_parts(m: Trace, tensor: Tensor, writes: list[Overwrite]) -> bool:
    """Whether writes give numbers to parts of what was made to be filled: ``x = zeros(9)``, ``mark(x, free)``."""
    blank = base_of(tensor).origin is Source.BLANK and m.grad(tensor) is Grad.NO
    parts = all(event.written.op == "setitem" and event.written.index is not None for event in writes)
    return blank and parts and all(constant(event.written.values[-1]) is not None for event in writes)
