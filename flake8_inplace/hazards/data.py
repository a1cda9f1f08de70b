"""Writes through ``.data`` and ``detach()``, which autograd doesn't see, and writes to the base of several views."""

from __future__ import annotations

from ..heap.autograd import graph
from ..heap.regions import base_of
from ..heap.state import Declared, same_or_none
from ..heap.values import UNCERTAIN, Grad, Source, Storage, Tensor, Value, View, is_number
from ..program.site import Site
from ..program.units import Triggers
from ..rule import Rule
from ..torchfacts.kinds import ADDING, EQUATING, SCALING
from ..torchfacts.ops import OVERWRITING
from ..trace import events
from ..trace.log import STORED, WRITES, Overwrite, Written, since
from ..trace.trace import Trace
from .snapshots import Update, may_be_copy, updates_of

RULES = (
    Rule(
        "TIP212",
        "split-base",
        "the base of several views is written before one of them is used",
        "base",
        "writes to the base of several views",
        other="used",
        effect="PyTorch raises",
        advice="write before the split, or to a `clone()`",
    ),
    Rule(
        "TIP312",
        "rescaled-data",
        "a computed tensor is changed through `.data`, and its gradient misses that",
        "rescaled",
        "changes a tensor unseen by autograd",
        other="used",
        effect="gradient silently wrong",
        advice="use the out-of-place form",
        fix="never",
        silent=True,
        at_run_time=False,
    ),
)

TRIGGERS = Triggers(names=OVERWRITING)
RESCALED: Declared[Storage, Site | None] = Declared(same_or_none)
"""The place where a computed tensor was multiplied through ``.data``, by its storage."""

_MIXING = ADDING | {"lerp"}
_COMPARING = _MIXING | EQUATING | {"rsub", "dist", "mse_loss", "l1_loss"}
"""Operators that ask how two tensors differ, or mix them."""
_FRAGILE = (View.MULTI_OUTPUT, View.BACKWARD_HOOK)
"""Views that may not be used after their base was overwritten."""


@events.overwrite.listen
def note_rescaling(m: Trace, tensor: Tensor, form: str, site: Site, written: Written) -> None:
    """Note a computed tensor that is multiplied, or filled with a number, through ``.data``: its gradient misses that.

    Other writes through ``.data``, such as rounding, or a mask before a softmax, bypass autograd on purpose.
    """
    hidden, base = tensor.storage.hidden, tensor.cell.base
    if hidden is None or base is None or not m.stack.frames:
        return
    state, value = m.state.get(base), written.values[0] if written.op == "setitem" else None
    made = value.made if isinstance(value, Tensor) else None
    scales = written.op.removesuffix("_") in SCALING or (made is not None and made.op in SCALING)
    scales = scales or written.unseen or written.op == "zero_"
    scales = scales or (written.op == "fill_" and is_number(written.values[-1]))
    if _is_part_of_blank(tensor) and written.op in ("zero_", "fill_"):
        return  # perhaps one that nothing was computed for
    if scales and state.grad is Grad.YES and state.node is not None:
        m.state.set(m.state[RESCALED], hidden, site)


def _is_part_of_blank(tensor: Tensor) -> bool:
    """Whether a tensor is a part of the ``.data`` of memory that was made to be filled."""
    data = base_of(tensor)
    of = data.made.values[0] if data is not tensor and data.made is not None else None
    return isinstance(of, Tensor) and base_of(of).origin is Source.BLANK


@events.operate.listen
def note_lost_graph(m: Trace, op: str, tensor: Tensor, sources: list[Tensor], alpha: Value, site: Site) -> None:
    """Note a write through ``.data`` of a gradient made with ``create_graph=True``: its graph is lost."""
    hidden, base = tensor.storage.hidden, tensor.cell.base
    if hidden is None or base is None or m.state.get(base).node is None:
        return
    if any(node.op == "grad" for node in graph(*m.history(*sources))):
        m.state.set(m.state[RESCALED], hidden, site)


@events.record.listen
def on_record(m: Trace, tensor: Tensor) -> None:
    """Report an operand that was rescaled, or is one of several views whose base was written since.

    A leaf, ``x.detach().requires_grad_()``, begins with the values that it has.
    """
    site = m.state[RESCALED].get(tensor.storage)
    if site is not None and m.grad(tensor) is Grad.YES and not m.cell(tensor).leaf:
        m.refuse("rescaled", site)
    if tensor.view in _FRAGILE and m.grad(tensor) is Grad.YES:
        for event in since(m, tensor, tensor.time):
            if event.tensor.view is not tensor.view:
                m.refuse("base", event.site, guard=event.guard)


@events.relate.listen
def on_compare(m: Trace, op: str, one: Tensor, other: Tensor, site: Site) -> None:
    """Report a parameter that is compared or mixed with ``.data`` or ``detach()`` of itself, taken before an update.

    If ``to()`` or ``cpu()`` may have copied, it may be a copy, and nothing is reported.
    """
    op = op.removesuffix("_")
    if op not in _COMPARING:
        return
    both = without_factors(m, op, one, other)
    memory = {tensor.storage.memory for tensor in both}
    if len(memory) > 1 or any(tensor.view is not View.NONE or may_be_copy(m, tensor) for tensor in both):
        return
    begin, end = sorted(tensor.time for tensor in both)
    if begin == 0:  # the parameter itself, as it is now
        begin, end = end, m.tick()
    storage = memory.pop()
    changes: list[Update | Overwrite] = [*updates_of(m, storage, begin), *since(m, Tensor(storage), begin)]
    for change in changes:
        if 0 < begin < change.time < end and change.site is not None:
            m.refuse("read", change.site)


def without_factors(m: Trace, op: str, one: Tensor, other: Tensor) -> list[Tensor]:
    """Return what two operands are multiples of, if they are not one tensor: ``x`` and ``y`` of ``x - 0.9 * y``."""
    apart = one.storage.memory is not other.storage.memory
    return [_unscaled(m, tensor) if apart and op in _MIXING else tensor for tensor in (one, other)]


def _unscaled(m: Trace, tensor: Tensor) -> Tensor:
    """Return ``x`` of the product ``0.9 * x``, as long as ``x`` has the values that it had in the product."""
    made = tensor.made
    if made is None or made.op not in SCALING:
        return tensor
    operands = [operand for operand in map(m.see, made.values) if isinstance(operand, Tensor)]
    memory = operands[0].storage.memory if len(operands) == 1 else None
    if memory is None or updates_of(m, memory, made.time) or since(m, Tensor(memory), made.time):
        return tensor
    return operands[0]


@events.copy.listen
def judge_restore(m: Trace, tensor: Tensor, old: Tensor) -> None:
    """Report ``x.data = old`` or ``x.copy_(old)`` if ``old`` is ``x.data`` or ``x.detach()``: it has the new values.

    So has what is computed from it after the write: ``x.copy_(old * mask)``.
    """
    if old is tensor:
        _judge_own(m, tensor)
    _judge_restore(m, tensor, old, m.tick())
    for part in old.made.values if old.made is not None else ():
        if isinstance(part := m.see(part), Tensor) and part.time and old.made is not None:
            _judge_restore(m, tensor, part, old.made.time)


def _judge_own(m: Trace, tensor: Tensor) -> None:
    """Report the last step that overwrote a parameter, or what an optimizer or a norm keeps, or backward a gradient.

    It is given itself: ``kept = list(model.parameters())`` keeps no values.
    """
    trained = [event for event in since(m, tensor, 0) if event.form == "accumulate" or event.written.op == "batch_norm"]
    for event in trained[-1:]:
        m.refuse("read", event.site, guard=event.guard)
    state = m.cell(tensor)
    steps = updates_of(m, tensor.storage, 0) if state.grad is Grad.YES and state.leaf else ()
    for site in [update.site for update in steps if update.site is not None][-1:]:
        m.refuse("read", site)


def _judge_restore(m: Trace, tensor: Tensor, old: Tensor, used: int) -> None:
    """Report the writes to ``tensor`` since ``old`` was taken, before it was ``used``.

    Writes through ``old`` are intended. Writes to other memory that ``tensor`` got since by ``tensor.data = ...`` don't
    change ``old``. An earlier run of the copy to a part, ``x[i].copy_(old)``, mostly went to another one.
    """
    memory, here = tensor.storage.memory, m.here() if tensor.view is not View.NONE else None
    _judge_swap(m, tensor, old, used)
    sure = old.view is tensor.view is View.NONE and old.origin not in UNCERTAIN
    detached = sure and old.storage is memory and 0 < old.time != tensor.time
    if not (detached or old.storage.hidden is memory) or m.state[STORED].get(("data", memory), 0) > old.time:
        return
    through: set[object] = set()
    for storage in list(m.state[WRITES]):
        if memory in (storage, storage.hidden):
            for event in [each for each in since(m, Tensor(storage), old.time) if each.counter is storage]:
                if event.tensor is old or (storage is old.storage and not detached):
                    through.add(event.site.expression)
                elif event.time < used and (here is None or event.site.expression is not here.expression):
                    m.refuse("read", event.site, guard=event.guard)
    besides = old.storage if old.storage is not memory else None
    for update in updates_of(m, memory, old.time, besides):
        if update.time < used and update.site is not None and update.site.expression not in through:
            m.refuse("read", update.site)


def _judge_swap(m: Trace, tensor: Tensor, old: Tensor, used: int) -> None:
    """Report ``x.copy_(tensor)`` between ``old = x.data`` and ``tensor.copy_(old)``: both have the values of one."""
    memory = old.storage.hidden
    for storage in list(m.state[WRITES]) if memory is not None and tensor.view is View.NONE else ():
        if memory in (storage, storage.hidden) and storage is not old.storage:
            for event in since(m, Tensor(storage), old.time):
                given = [value for value in map(m.see, event.written.values) if isinstance(value, Tensor)]
                taken = any(value.storage.memory is tensor.storage.memory for value in given)
                if taken and event.written.op == "copy_" and event.time < used and event.counter is storage:
                    m.refuse("read", event.site, guard=event.guard)


@events.replace_data.listen
def on_replace_data(m: Trace, tensor: Tensor, value: Value) -> None:
    """``x.data = value`` gives ``x`` other memory, or restores its own."""
    if isinstance(value, Tensor):
        judge_restore(m, tensor, value)
    m.state.set(m.state[STORED], ("data", tensor.storage.memory), m.tick())
