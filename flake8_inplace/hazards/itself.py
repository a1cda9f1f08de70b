"""A value that was kept by reference meets the one that overwrote it: an operator relates a tensor to itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..heap.regions import same_tensor
from ..heap.values import UNCERTAIN, Grad, Tensor, View
from ..program.site import Site
from ..program.units import Triggers
from ..rule import Rule
from ..trace import events
from ..trace.log import RETURNED, Overwrite, direct_tensors, since
from ..trace.trace import Trace
from .snapshots import Update, updates_of

# Training overwrites gradients and running statistics without a write in the text.
RULES: tuple[Rule, ...] = ()  # it reports TIP303
TRIGGERS = Triggers(names=frozenset({"grad", "running_mean", "running_var"}))


@events.relate.listen
def on_relate(m: Trace, one: Tensor, other: Tensor, site: Site) -> None:
    """Report ``new - old`` if both names are one tensor, and one took it before a write and the other after it.

    A variable tells when it took the tensor. What is taken out of containers at the same place, such as
    ``zip(model.parameters(), kept)``, doesn't, and counts only for parameters and gradients.
    """
    if one.storage is not other.storage or not m.stack.frames:
        return
    begin, end, made_here = _taken(m, site)
    if not _alike(one, other, made_here) or (begin == end and not (end == 0 and _is_trained(m, one))):
        return
    for change in _changes(m, one, begin):
        if (change.time < end or not end) and change.site is not None:
            m.refuse("read", change.site, change.calls if isinstance(change, Overwrite) else None)
            return


def _changes(m: Trace, tensor: Tensor, begin: int) -> Iterator[Overwrite | Update]:
    yield from (event for event in since(m, tensor, begin) if not _was_asked_for(m, event))
    state = m.cell(tensor)
    if state.grad is Grad.YES and state.leaf:
        yield from updates_of(m, tensor.storage, begin)


def _was_asked_for(m: Trace, event: Overwrite) -> bool:
    """Whether a function overwrote its argument, and nothing says that its caller doesn't know."""
    inner = event.frames[-1]
    given = [tensor.storage for value in inner.given for tensor in direct_tensors(m, value)]
    called = inner is not m.stack.frames[-1] and event.tensor.storage in given
    return called and m.state[RETURNED].get(event) is None


def _alike(one: Tensor, other: Tensor, made_here: Sequence[bool]) -> bool:
    """Whether two tensors surely have the same values. What may be a copy counts only if it was made here."""
    if any(each.origin in UNCERTAIN and not here for each, here in zip((one, other), made_here, strict=True)):
        return False
    one, other = _unshaped(one), _unshaped(other)
    return one is other or same_tensor(one, other) or (one.view is other.view is View.NONE and one.contiguous)


def _unshaped(tensor: Tensor) -> Tensor:
    """The tensor that a view takes every element of: ``x`` of ``x.view(-1)``."""
    while tensor.region is not None and tensor.region.reshaped:
        tensor = tensor.region.base
    return tensor


def _is_trained(m: Trace, tensor: Tensor) -> bool:
    """Whether a tensor is a parameter, the gradient of one, or a running statistic."""
    state = m.cell(tensor)
    by_training = any(event.form == "accumulate" or event.written.op == "batch_norm" for event in since(m, tensor, 0))
    return by_training or (state.grad is Grad.YES and state.leaf)


def _taken(m: Trace, site: Site) -> tuple[int, int, tuple[bool, bool]]:
    """When the two operands of an expression took their tensors, the older first; 0 where the text doesn't tell.

    Both are 1 if the operands are spelled alike, or are no expressions that take a tensor from somewhere. A variable
    that was bound to the other one keeps what both were then: ``before = new``. The last part is whether each operand
    was made by a method that is called here.
    """
    from ..program.wording import binds, operands

    found, frame = operands(site.expression), m.stack.frames[-1]
    if found is None:
        return 1, 1, (False, False)
    times = []
    for name, is_variable, _ in found:
        loop = name in frame.elements or name not in frame.vars
        times.append(0 if loop or not is_variable else frame.times.get(name, frame.born))
    begin, end = (max(times), 0) if 0 in times else (min(times), max(times))
    if begin < end and frame.function is not None:
        older, newer = sorted((0, 1), key=times.__getitem__)
        if binds(m.text.body(frame.function)[0], found[newer][0], found[older][0]):
            begin, end = end, 0
    return begin, end, (found[0][2], found[1][2])
