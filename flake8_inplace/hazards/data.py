"""Values that are read, restored or differentiated past a write through ``.data`` or ``detach()``."""

from __future__ import annotations

from ..heap.autograd import graph
from ..heap.state import Declared, same_or_none
from ..heap.values import UNCERTAIN, Grad, Storage, Tensor, Value, View
from ..program.site import Site
from ..rule import Rule
from ..trace import events
from ..trace.log import STORED, WRITES, Written, since
from ..trace.trace import Trace
from .snapshots import updates

RULES = (
    Rule(
        "TIP212",
        "split-base",
        "the base of several views is written before one of them is used",
        "base",
        "writes to what was split into several views, of which one is used afterwards, which torch refuses; write "
        "before the split, or to a `clone()`",
    ),
    Rule(
        "TIP312",
        "rescaled-data",
        "a computed tensor is changed through `.data`, and its gradient misses that",
        "rescaled",
        "changes, past autograd, a tensor that the loss is computed from; its gradient misses that",
        fix="never",
        silent=True,
        at_run_time=False,
    ),
)

RESCALED: Declared[Storage, Site | None] = Declared(same_or_none)
"""Where a computed tensor was multiplied through ``.data``, by its storage."""

_SCALING = frozenset({"mul", "div"})


@events.overwrite.listen
def rescale(m: Trace, tensor: Tensor, form: str, site: Site, written: Written) -> None:
    """A result of the graph is multiplied through ``.data``: its gradient does not know of the factor.

    Other writes through ``.data``, such as rounding, may mean just that.
    """
    hidden, base = tensor.storage.hidden, tensor.cell.base
    if hidden is None or base is None or not m.stack.frames:
        return
    state, value = m.state.get(base), written.values[0] if written.op == "setitem" else None
    made = value.made if isinstance(value, Tensor) else None
    scales = written.op.removesuffix("_") in _SCALING or (made is not None and made.op in _SCALING)
    if scales and state.grad is Grad.YES and state.node is not None:
        m.state.set(m.state[RESCALED], hidden, site)


@events.operate.listen
def cut_off(m: Trace, op: str, tensor: Tensor, sources: list[Tensor], alpha: Value, site: Site) -> None:
    """A gradient that was made with ``create_graph=True`` is written through ``.data``, where its graph is lost."""
    hidden, base = tensor.storage.hidden, tensor.cell.base
    if hidden is None or base is None or m.state.get(base).node is None:
        return
    if any(node.op == "grad" for node in graph(*m.history(*sources))):
        m.state.set(m.state[RESCALED], hidden, site)


@events.record.listen
def differentiated(m: Trace, tensor: Tensor) -> None:
    """Autograd records an operator of ``tensor``."""
    site = m.state[RESCALED].get(tensor.storage)
    if site is not None and m.grad(tensor) is Grad.YES:
        m.refuse("rescaled", site)
    if tensor.view is View.MULTI_OUTPUT and m.grad(tensor) is Grad.YES:
        for event in since(m, tensor, tensor.time):
            if event.tensor.view is not View.MULTI_OUTPUT:
                m.refuse("base", event.site)


@events.compare.listen
def compared(m: Trace, one: Tensor, other: Tensor) -> None:
    """A parameter is compared with what ``.data`` or ``detach()`` kept of it before an update: with itself.

    Where ``to()`` or ``cpu()`` may have copied, it may be what it was.
    """
    both = (one, other)
    memory = {tensor.storage.hidden or tensor.storage for tensor in both}
    if len(memory) > 1 or any(tensor.view is not View.NONE or tensor.origin in UNCERTAIN for tensor in both):
        return
    begin, end = sorted(tensor.time for tensor in both)
    if begin == 0:  # the parameter itself, as it is now
        begin, end = end, m.tick()
    for update in updates(m):
        if 0 < begin < update.time < end and update.site is not None:
            m.refuse("read", update.site)


@events.copy.listen
def brought_back(m: Trace, tensor: Tensor, old: Tensor) -> None:
    """``x.data = old`` or ``x.copy_(old)``: what ``old = x.data`` kept is ``x`` itself, with all that was written.

    So is what ``x.detach()`` kept. Writes through ``old`` are what the program wants to have, and writes to other
    memory, which ``x`` was given since by ``x.data = ...``, do not touch it.
    """
    memory = tensor.storage.hidden or tensor.storage
    sure = old.view is tensor.view is View.NONE and old.origin not in UNCERTAIN
    detached = sure and old.storage is memory and 0 < old.time != tensor.time
    same = (detached or old.storage.hidden is memory) and m.state[STORED].get(("data", memory), 0) <= old.time
    for storage in list(m.state[WRITES]) if same else ():
        if memory in (storage, storage.hidden):
            for event in since(m, Tensor(storage), old.time):
                if event.tensor is not old and (detached or storage is not old.storage):
                    m.refuse("read", event.site)


@events.replace_data.listen
def replaced(m: Trace, tensor: Tensor, value: Value) -> None:
    """``x.data = value`` gives ``x`` other memory, or brings back its own."""
    if isinstance(value, Tensor):
        brought_back(m, tensor, value)
    m.state.set(m.state[STORED], ("data", tensor.storage.hidden or tensor.storage), m.tick())
