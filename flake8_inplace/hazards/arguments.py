"""Arguments that a function overwrites and its caller goes on to read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..heap.regions import unshaped
from ..heap.values import NONE, Array, Const, Dict, List, Object, Slice, Source, Tensor, Unknown, Value, View
from ..rule import Rule
from ..trace import events
from ..trace.log import (
    ENTRIES,
    PLACES,
    RETURNED,
    USED,
    WRITES,
    Change,
    Overwrite,
    array_backing,
    direct_tensors,
    given_tensors,
    since,
)
from ..trace.trace import Trace

RULES = (
    Rule(
        "TIP304",
        "callers-tensor",
        "a function overwrites a tensor that its caller goes on to read",
        "argument",
        "overwrites a tensor that its caller uses",
        other="read as {name}",
        effect="silently wrong",
        advice="work on a `clone()`",
        silent=True,
        at_run_time=False,
    ),
)


@events.returns.listen
def on_return(m: Trace, args: Sequence[Value], result: Value, born: int, used: bool) -> None:
    """Note the arguments that a function overwrote, for later reads of the caller."""
    if used:
        _note_overwritten(m, args, result, born)
    else:
        _note_overwritten_by_alias(m, args, born)


def _note_overwritten(m: Trace, args: Sequence[Value], result: Value, born: int) -> None:
    """Note overwritten arguments of a call whose result is used.

    If the function returns the tensor, the caller may read it under the old name too. If it converted the tensor and
    returns something else, the caller may not know that its tensor has changed.
    """
    if not m.state[WRITES]:
        return
    outcome = m.see(result)
    whole = outcome if any(m.see(arg) is outcome for arg in args) else NONE
    inside = given_tensors(m, outcome, NONE, 1) if whole is NONE and isinstance(outcome, (List, Dict)) else []
    results = [*direct_tensors(m, result), *inside]
    answers = bool(results) or isinstance(m.see(result), (Object, Dict, List, Unknown, Array))
    every = [tensor for arg in args for tensor in given_tensors(m, arg, whole)]
    given = {tensor.storage: tensor for tensor in every}
    returned = {tensor.storage.hidden or tensor.storage for tensor in results}
    direct = {tensor.storage for arg in args for tensor in direct_tensors(m, arg)}
    for storage, tensor in given.items() if answers else ():
        writes = since(m, tensor, born)
        if tensor.view is not View.NONE:
            alone = all(found is tensor for found in every if found.storage is storage)
            writes = [event for event in writes if event.tensor is tensor or (alone and _is_by_variable(m, event))]
        if tensor.origin is not Source.MAYBE_CAST:  # a cast of the function's own may have copied
            writes = [event for event in writes if event.tensor.origin is not Source.MAYBE_CAST]
        changes, back = {event.change for event in writes}, (storage.hidden or storage) in returned
        converted = Change.CONVERTED in changes <= {Change.CONVERTED, Change.SHIFTED}
        for event in writes:
            if _is_packed(event):
                continue
            aside = (event.form == "augmented" or event.written.array) and _is_by_alias(m, event, tensor, args, born)
            if ((back or converted) and not event.filled) or aside:
                m.state.set(m.state[RETURNED], event, tensor)
            apart = storage not in direct and is_in_copy(m, event, args)
            if (back and storage not in direct) or apart:
                m.state.set(m.state[RETURNED], (Change.OTHER, event), tensor)
            if converted or (changes == {Change.MARKED} and not back):
                m.state.set(m.state[RETURNED], (event.change, event), tensor)


def _is_by_variable(m: Trace, event: Overwrite) -> bool:
    """Whether a write was through a variable: of what the function got of that memory, if it was one argument."""
    by = event.frames[-1].vars.get(event.name, NONE)
    return any(tensor.storage is event.tensor.storage for tensor in direct_tensors(m, by))


def _is_packed(event: Overwrite) -> bool:
    """Whether a write fills an output piece by piece: ``out[offset:offset + n] = piece``."""
    bounds = [(each.lower, each.upper) for each in event.written.index or () if isinstance(each, Slice)]
    return event.change is Change.OTHER and any(low != NONE and not isinstance(high, Const) for low, high in bounds)


def is_in_copy(m: Trace, event: Overwrite, args: Sequence[Value]) -> bool:
    """Whether ``out[key] += x`` overwrote an element of a list or dictionary that the call made of an argument.

    A shallow copy, ``out = dict(given)``, holds the same tensors.
    """
    container = m.see(event.frames[-1].vars.get(event.name, NONE))
    if event.form != "augmented" or not isinstance(container, (List, Dict)):
        return False
    return all(container is not given for arg in args for given in _containers(m, arg, PLACES))


def _containers(m: Trace, value: Value, depth: int) -> Iterator[Value]:
    value = m.see(value)
    if isinstance(value, (List, Dict)) and depth:
        yield value
        held = m.state.get(value).items if isinstance(value, List) else m.state.get(value).items.values()
        for item in list(held)[:ENTRIES]:
            yield from _containers(m, item, depth - 1)


def _note_overwritten_by_alias(m: Trace, args: Sequence[Value], born: int) -> None:
    """Note the arguments that a call as a statement overwrites through a detached alias, such as ``v = x.detach()``.

    A call used as a statement may intend to change its argument, but not through such an alias, which it takes for a
    copy. If it writes other values, it may be asked to put them there, and has no use for the alias afterwards.
    """
    for tensor in [found for arg in args for found in direct_tensors(m, arg)] if m.state[WRITES] else ():
        for event in since(m, tensor, born):
            own = event.change is not Change.OTHER or event in m.state[USED]
            if own and _is_by_alias(m, event, tensor, args, born):
                m.state.set(m.state[RETURNED], event, tensor)


def _is_by_alias(m: Trace, event: Overwrite, tensor: Tensor, args: Sequence[Value], born: int) -> bool:
    """Whether a call overwrote an argument by a variable for its ``detach()``, or for an array over it, made in the call.

    Parameters are left out: they are updated like this on purpose.
    """
    state, by, inner = m.cell(tensor), unshaped(event.tensor), event.frames[-1]
    named = bool(event.name) and array_backing(m.see(inner.vars.get(event.name, NONE))) is event.tensor
    apart = by.time > born and by.cell is not tensor.cell and by.view is unshaped(tensor).view
    if event.written.array:
        apart = apart or all(not isinstance(each, Array) or each.tensor is not tensor for each in map(m.see, args))
    return named and apart and (state.node is not None or not state.grad)


@events.announce.listen
def on_announce(m: Trace, args: Iterable[Value], begin: int) -> None:
    """Forget the writes to these arguments since ``begin``: the call declares that it works in place."""
    for tensor in [found for arg in args for found in direct_tensors(m, arg)] if m.state[WRITES] else ():
        for event in since(m, tensor, begin):
            for key in (event, (Change.CONVERTED, event), (Change.MARKED, event), (Change.OTHER, event)):
                m.state.set(m.state[RETURNED], key, None)
