"""Saved tensors that are overwritten before a backward needs them."""

from __future__ import annotations

from collections.abc import Sequence

from ..heap.autograd import Write, compatible, graph, routes
from ..heap.state import Declared, each_once
from ..heap.values import Grad, Node, Saved, Storage, Tensor, Value
from ..program.site import Site
from ..program.units import Triggers
from ..rule import Rule
from ..torchfacts import arrays
from ..trace import events, needs
from ..trace.backward import SECOND_BACKWARD
from ..trace.log import over_memory
from ..trace.reports import Hazard, Need
from ..trace.trace import GRAD_TESTS, Trace

TO_A_CLONE = "write to a `clone()`"
VALUE_FIRST = f"compute the value first, then {TO_A_CLONE}"
"""The same where the value that is written is what saves the tensor: it would save the clone."""
RULES = (
    Rule(
        "TIP101",
        "saved-tensor-method",
        "an in-place method overwrites a saved tensor",
        "op_",
        advice="use {function}",
        part=TO_A_CLONE,
        fix="safe",
    ),
    Rule(
        "TIP102",
        "saved-tensor-inplace-argument",
        "`inplace=True` overwrites a saved tensor",
        "inplace",
        advice="drop `inplace=True`",
        fix="safe",
    ),
    Rule(
        "TIP103",
        "saved-tensor-augmented",
        "an augmented assignment overwrites a saved tensor",
        "augmented",
        advice="write `{target} = {target} {operator} ...`",
        fix="safe",
    ),
    Rule(
        "TIP104",
        "saved-tensor-subscript",
        "an index or slice assignment overwrites a saved tensor",
        "subscript",
        advice=TO_A_CLONE,
        fix="safe",
    ),
    Rule(
        "TIP105",
        "saved-tensor-out",
        "`out=` overwrites a saved tensor",
        "out",
        advice="drop `out=`",
    ),
    Rule(
        "TIP106",
        "parameter-update",
        "parameters are updated between a forward and its backward",
        "step",
        advice="update after that backward",
        happens="updated",
    ),
    Rule("TIP107", "saved-tensor-callee", "a called function overwrites a tensor that its caller had saved", "callee"),
    Rule(
        "TIP108",
        "saved-tensor-detached",
        "`detach_()` of a tensor that was saved",
        "detached",
        "detaches a tensor that {op} saved",
        effect="backward raises",
        advice="use `detach()`",
        happens="detached",
    ),
    Rule(
        "TIP109",
        "no-derivative",
        "an in-place operator that has no derivative, or none for its arguments",
        "underivable",
        "has no derivative in place",
        effect="backward raises",
        advice="use the out-of-place form",
        fix="never",
    ),
    Rule(
        "TIP301",
        "saved-tensor-data",
        "`.data` overwrites a saved tensor without the version counter",
        "data",
        effect="gradient silently wrong",
        advice="use the out-of-place form",
    ),
    Rule(
        "TIP302",
        "saved-tensor-numpy",
        "a numpy array overwrites the memory of a saved tensor",
        "numpy",
        effect="gradient silently wrong",
        advice="copy the array first",
    ),
    Rule(
        "TIP310",
        "fused-step",
        "a fused optimizer updates parameters between a forward and its backward",
        "fused",
        effect="gradient silently wrong",
        advice="update after that backward",
        happens="updated",
    ),
    Rule(
        "TIP311",
        "hooked-save",
        "a saved tensor that hooks keep without a copy is overwritten",
        "hooked",
        effect="gradient silently wrong",
        advice="pack a `clone()` in the hooks",
    ),
    Rule(
        "TIP404",
        "context-attribute",
        "a tensor kept as an attribute of `ctx` is overwritten",
        "ctx",
        effect="gradient silently wrong",
        advice="keep it with `ctx.save_for_backward`",
        at_run_time=False,
    ),
    Rule(
        "TIP501",
        "possibly-saved",
        "a tensor that code not shown here may have saved is overwritten",
        "argument of",
        effect="backward may raise",
        family="possible",
        fix="never",
    ),
    Rule(
        "TIP502",
        "possibly-overwritten",
        "code not shown here may overwrite a saved tensor",
        "possible",
        effect="backward may raise",
        advice="use the out-of-place form, if it has one",
        family="possible",
        fix="never",
    ),
)
TRIGGERS = Triggers(
    names=frozenset({"step", "data", "detach_", "real=", "imag="}) | arrays.writers() - arrays.writing_methods()
)
SILENT = ("data", "numpy", "fused", "hooked")
"""The forms of the writes that no version counter shows: only values that a backward computes with matter."""
UPDATES = ("step", "fused")
"""The forms of the writes that optimizers make."""
AGAIN = "run the forward again before the next backward, or `detach()` what it reuses"
"""The advice if the backward that needs the old parameters is the one of the next iteration."""
LATER = "change it after that backward"
"""The advice if a parameter is overwritten, or another leaf: a new tensor would be no parameter."""
RENORM = "look the embedding up first, or use a `clone()` of the weight"
"""The advice if an embedding with ``max_norm`` overwrites its weight. The rule is that of an in-place method."""


GRADIENT = "grad_output"
"""The misuse of who overwrites a gradient that he was given: it goes wrong where another node was given it, too."""
NOTED = 16
"""The most writes that are noted of one saved tensor: more would say nothing else, and each is noted for every save."""
PENDING: Declared[Saved, tuple[Write, ...]] = Declared(each_once)
"""The writes that made a saved tensor stale. They become hazards when a backward may reach its node."""


@events.write.listen
def write(m: Trace, storage: Storage, form: str, site: Site) -> None:
    """Mark the saved tensors of an overwritten storage as stale.

    A write inside an optimizer that the program defines counts at the call of the optimizer.
    """
    if m.stack.stepping is not None:
        form, site = "step", m.stack.stepping
    for each in over_memory(m, storage):
        _overwrite(m, each, form if each is storage else "data", site)


def _overwrite(m: Trace, storage: Storage, form: str, site: Site) -> None:
    if storage in m.backward.readonly:
        if misuse := m.backward.misused(storage):
            of_hook = m.backward.used is None  # of which it is known
            shared = () if misuse != GRADIENT or of_hook else (Need("shared"),)
            m.refuse(misuse, site, other=m.backward.place, needs=shared)
        return
    if storage in m.backward.saved:
        m.backward.saved[storage].append(Write(form, site, m.state.guard(), tuple(m.stack.calls)))
        return
    if m.backward.readonly and form in ("data", "numpy"):
        return  # a hook that puts back what was there
    saves = live(m, storage)
    if saves:
        guard = m.state.guard()
        pending = m.state[PENDING]
        made: Write | None = None
        for saved in saves:
            before = pending.get(saved, ())
            if len(before) < NOTED and compatible(saved.guard, guard):
                made = made or Write(form, site, guard, tuple(m.stack.calls), m.stack.module, m.stack.part, m.clock)
                m.state.set(pending, saved, (*before, made))


@events.detach.listen
def detach(m: Trace, tensor: Tensor, site: Site) -> None:
    """Mark the saves of a computed operand that ``detach_()`` makes a leaf: a backward misses its history."""
    if m.cell(tensor).node is None:
        return
    for saved in live(m, tensor.storage):
        if saved.slot != "result" and tensor.cell in saved.needs:
            _mark(m, saved, "detached", site)


@events.underivable.listen
def underivable(m: Trace, result: Saved, site: Site) -> None:
    """Mark the result of an in-place operator whose backward raises."""
    _mark(m, result, "underivable", site)


def _mark(m: Trace, saved: Saved, form: str, site: Site) -> None:
    pending = m.state[PENDING]
    made = Write(form, site, m.state.guard(), tuple(m.stack.calls))
    m.state.set(pending, saved, (*pending.get(saved, ()), made))


def live(m: Trace, storage: Storage) -> list[Saved]:
    """Return the saved tensors of a storage that are saved on the present path.

    If the program tested that a tensor doesn't require grad, nothing was saved for its gradient. A program that tests
    one operand is assumed to have checked the others, so only operands that certainly require grad count then.
    """
    saves = m.state.get(storage)
    constant = {cell for cell in m.state[GRAD_TESTS] if m.without_grad(cell)} if saves else set()
    if not constant:
        return list(saves)
    sure = {saved for saved in saves if any(m.state.get(c).grad is Grad.YES for c in saved.needs - constant)}
    for node in graph(*(m.state.get(cell).node for cell in constant)) if sure else ():
        sure.difference_update(node.saves)
    return [saved for saved in saves if saved in sure]


@events.reach.listen
def backward_may_start_from(m: Trace, values: Sequence[Value]) -> None:
    """Report the stale saved tensors that a backward from these values would need."""
    _judge(m, values, kept=False)


@events.keep.listen
def backward_may_start_from_kept(m: Trace, values: Sequence[Value]) -> None:
    """Report those that a backward from what an instance keeps would need, other than parameters.

    A method that updates parameters is a training loop, which keeps an output or a loss for its record.
    """
    _judge(m, values, kept=True)


def _judge(m: Trace, values: Sequence[Value], kept: bool) -> None:
    pending = m.state[PENDING]
    if not pending:
        return
    for node, guard in routes(m.sources(*values), m.state.guard()):
        for saved in node.saves:
            for made in pending.get(saved, ()):
                before = m.reports.hazards.get((saved, made))
                silent = made.form in SILENT
                judged = (before is None or before.needs) and not (kept and made.form in UPDATES)
                judged = judged and not (silent and saved.used == ())
                if judged and compatible(saved.guard, made.guard, guard):
                    needed = (*m.reports.needs(saved.guard | made.guard | guard), *needs.of_save(m, saved, silent))
                    if before is None or len(needed) < len(before.needs):
                        m.reports.hazards[saved, made] = Hazard(saved, made, needed, m.here())


@events.retain_graph.listen
def second_backward(m: Trace, values: Sequence[Value]) -> None:
    """After a backward with ``retain_graph``, mark what custom backwards have overwritten as stale for the next one."""
    pending, again = m.state[PENDING], m.state[SECOND_BACKWARD]
    for node in graph(*m.history(*values)):
        for saved in node.saves:
            if saved in again:
                m.state.set(pending, saved, (*pending.get(saved, ()), *again[saved]))


@events.stop_early.listen
def stop_early(m: Trace, time: int) -> None:
    """Forget the writes since ``time`` to what is saved in checkpoints: the second run stops there."""
    pending = m.state[PENDING]
    for saved, writes in list(pending.items()):
        if saved.recomputed and any(write.time >= time for write in writes):
            m.state.set(pending, saved, tuple(write for write in writes if write.time < time))


@events.free_graph.listen
def free_graph(m: Trace, nodes: Sequence[Node]) -> None:
    """Forget what these nodes and their ancestors saved: a backward went through them and freed it."""
    for node in graph(*nodes):
        for saved in node.saves:
            held = m.state.get(saved.storage)
            if saved in held:
                m.state.put(saved.storage, held - {saved})
