"""Activation checkpointing: a function runs once more in the backward pass, from inputs that are saved for that."""

from __future__ import annotations

from ..heap.autograd import graph
from ..heap.values import CHECKPOINT, NONE, CellState, Const, Node, Object, Saved, Tensor, Value, constant
from ..program.site import Site
from ..trace import events, holdings
from ..trace.callables import Bound
from ..trace.log import given_tensors
from ..trace.trace import Trace
from .operators import keep
from .registry import Call, model

_OPTIONS = frozenset("use_reentrant preserve_rng_state context_fn determinism_check debug early_stop".split())


@model("torch.utils.checkpoint.checkpoint", "torch.utils.checkpoint.checkpoint_sequential")
def _checkpoint(call: Call) -> Value | None:
    """``checkpoint(function, *args)``: the tensors that it is given one by one are saved, and nothing of its results.

    The kind that is not reentrant saves them before the function runs, and runs it again if that saved something. The
    other kind saves them afterwards, but refuses a write to those that require grad.
    """
    if not call.args:
        return None
    m, function = call.m, call.seen(0)
    begin = m.tick()
    kwargs = {name: value for name, value in call.kwargs.items() if name not in _OPTIONS}
    reentrant = constant(call.kwargs.get("use_reentrant", Const(True)))
    one = call.name.endswith(".checkpoint")
    saved = [_save(call, each) for each in _inputs(call) if reentrant is False or m.grad(each)] if one else []
    if one and reentrant is False:
        result = _run_until_last_save(call, function, kwargs)
    else:
        result = m.call(function, call.args[1:], kwargs, call.site)
    nodes = [*graph(*m.history(result))]
    if not m.grad_mode or (nodes and reentrant is False and not any(_saves(m, node, call.site) for node in nodes)):
        return result  # it does not run again
    storages = {each.storage for each in saved}
    if again := [tensor for tensor in _seen(call, function, kwargs) if tensor.storage not in storages]:
        events.checkpoint(m, again, begin)
    if one:
        saved += [_save(call, each) for each in _inputs(call) if each.storage not in storages]
        _keep_inputs_only(call, saved, result)
    return result


def _run_until_last_save(call: Call, function: Value, kwargs: dict[str, Value]) -> Value:
    """Call a function of which all that is saved is computed again, until the last save.

    A write after that is not repeated. One before it is, and nothing compares versions.
    """
    m, before = call.m, call.m.state.modes.get("packing")
    m.state.set(m.state.modes, "packing", CHECKPOINT)
    m.state.set(m.state.modes, "last save", m.tick())
    result = m.call(function, call.args[1:], kwargs, call.site)
    m.state.set(m.state.modes, "packing", before)
    if constant(call.kwargs.get("early_stop", Const(True))) is True:
        events.stop_early(m, m.state.modes["last save"])
    return result


def _inputs(call: Call) -> list[Tensor]:
    """The tensors that a checkpoint saves: its positional arguments, not what is in a list or has a name."""
    seen = map(call.m.see, call.args[1:])
    return [value for value in seen if isinstance(value, Tensor)] if call.m.grad_mode else []


def _seen(call: Call, function: Value, kwargs: dict[str, Value]) -> list[Tensor]:
    """The tensors that the function sees: those of its instance, and all that it is given."""
    owner = function.receiver if isinstance(function, Bound) else function
    seen = holdings.held(call.m, owner, set()) if isinstance(owner, Object) else []
    return seen + [each for value in (*call.args[1:], *kwargs.values()) for each in given_tensors(call.m, value, NONE)]


def _save(call: Call, tensor: Tensor) -> Saved:
    return keep(call.m, "checkpoint", "input", tensor.storage, call.site)


def _keep_inputs_only(call: Call, saved: list[Saved], result: Value) -> None:
    """Take back what was saved of the inputs and results of a checkpointed function: backward computes it anew."""
    m, results = call.m, [*holdings.tensors_in(call.m, result)]
    for storage in dict.fromkeys((*(each.storage for each in saved), *(tensor.storage for tensor in results))):
        held = m.state.get(storage)
        kept = frozenset(each for each in held if each in saved or not _is_within(m, each, call.site))
        if kept != held:
            m.state.put(storage, kept)
    for tensor in results if saved else ():
        state = m.cell(tensor)
        if state.node is not None:
            m.state.put(tensor.cell, CellState(state.grad, Node("checkpoint", tuple(saved), (state.node,)), state.leaf))


def _saves(m: Trace, node: Node, site: Site) -> bool:
    """Whether a node of a call at a place saved something."""
    return any(_is_within(m, saved, site) for saved in node.saves)


def _is_within(m: Trace, saved: Saved, site: Site) -> bool:
    """Whether something was saved in a call at a place, or by it."""
    outer = tuple(m.stack.calls)
    inner = saved.calls[len(outer) : len(outer) + 1]
    return saved.calls[: len(outer)] == outer and (site == saved.place or site in inner)
