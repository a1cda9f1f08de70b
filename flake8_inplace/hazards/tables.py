"""Tables that a function makes once for each key: ``if n not in self.cache: self.cache[n] = torch.arange(n) / n``."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ..heap.regions import base_of
from ..heap.state import Declared, latest
from ..heap.values import Choice, Dict, Origin, Source, Storage, Tensor, Value
from ..trace import events
from ..trace.log import array_backing, direct_tensors, since
from ..trace.trace import Trace
from .replay import CACHED

TABLED: Declared[Storage, int] = Declared(latest)
"""When a table of numbers was put into a dictionary that is no variable of the function, by its memory."""
DEPTH = 6
"""How many operators back it is asked what a table was made of."""
_RISING = frozenset("arange linspace logspace hann_window hamming_window blackman_window kaiser_window".split())
_SHAPING = frozenset({"triu", "tril", "outer", "meshgrid"})
"""Operators that give a tensor of equal numbers a form: the mask of an attention, say."""


@events.store_key.listen
def on_store_key(m: Trace, container: Dict, key: Hashable, value: Value) -> None:
    """Note a table that a dictionary keeps which was there before the call."""
    frame = m.stack.frames[-1] if m.stack.frames else None
    if frame is None or frame.function is None or any(m.see(held) is container for held in frame.vars.values()):
        return
    for tensor in direct_tensors(m, value):
        if not m.grad(tensor) and is_table(m, tensor):
            m.state.set(m.state[TABLED], tensor.storage, m.tick())


@events.returns.listen
def on_return(m: Trace, args: Sequence[Value], result: Value, born: int, used: bool) -> None:
    """Note that a function returned a table that it has kept since it was called: to each call with the same key."""
    for tensor in direct_tensors(m, result) if m.state[TABLED] and used else ():
        here = m.here()
        if m.state[TABLED].get(tensor.storage, 0) > born and here is not None:
            m.state.set(m.state[CACHED], tensor.storage, here)


def is_table(m: Trace, value: Value, depth: int = DEPTH, known: dict[Tensor, bool] | None = None) -> bool:
    """Return whether a tensor was computed of numbers alone, and not all of its elements are the same.

    Zeros and random numbers may be the first values of something that is to be updated. ``known`` are the tensors that
    were asked about on the way: each is looked into once, for hundreds of writes may take in one another.
    """
    known = {} if known is None else known
    value = array_backing(m.see(value))
    if isinstance(value, Choice):
        return all(is_table(m, option, depth, known) for _, option in value.options)
    base = base_of(value) if isinstance(value, Tensor) else None
    if base is None or base.made is None or not depth or m.grad(base):
        return False
    if base not in known:
        known[base] = False
        known[base] = _is_made_of_numbers(m, base, base.made, depth, known)
    return known[base]


def _is_made_of_numbers(m: Trace, base: Tensor, made: Origin, depth: int, known: dict[Tensor, bool]) -> bool:
    if base.origin is Source.BLANK:
        written = [each for event in since(m, base, 0) for each in event.written.values]
        return any(is_table(m, each, depth - 1, known) for each in written)
    if made.op in _RISING:
        return True
    operands = [each for each in map(m.see, made.values) if isinstance(each, Tensor)]
    shaped = made.op in _SHAPING and all(each.origin is Source.BLANK for each in operands)
    return bool(operands) and (shaped or all(is_table(m, each, depth - 1, known) for each in operands))
