"""Arguments that a function overwrites and its caller goes on to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..heap.values import NONE, Array, Dict, List, Object, Source, Unknown, Value, View
from ..rule import Rule
from ..trace import events
from ..trace.log import RETURNED, WRITES, Change, direct_tensors, given_tensors, since
from ..trace.trace import Trace

RULES = (
    Rule(
        "TIP304",
        "callers-tensor",
        "a function overwrites a tensor that its caller goes on to read",
        "argument",
        "overwrites a tensor of the caller, who goes on to read it, silently; work on a `clone()`",
        silent=True,
        at_run_time=False,
    ),
)


@events.returns.listen
def returned(m: Trace, args: Sequence[Value], result: Value, born: int, used: bool) -> None:
    """A function returns."""
    if used:
        handed_back(m, args, result, born)
    else:
        peeked(m, args, born)


def handed_back(m: Trace, args: Sequence[Value], result: Value, born: int) -> None:
    """A function returns something that its caller uses.

    A tensor that it overwrote and returns has two names, where the caller gives it a new one. One that it converted,
    to return something else, is no more what the caller knew.
    """
    if not m.state[WRITES]:
        return
    results = direct_tensors(m, result)
    answers = bool(results) or isinstance(m.see(result), (Object, Dict, List, Unknown, Array))
    given = {tensor.storage: tensor for arg in args for tensor in given_tensors(m, arg, m.see(result))}
    returned = {tensor.storage for tensor in results}
    for storage, tensor in given.items() if answers else ():
        events = since(m, tensor, born)
        if tensor.view is not View.NONE:
            events = [event for event in events if event.tensor is tensor]
        if tensor.origin is not Source.MAYBE_CAST:  # a cast of the function's own may have copied
            events = [event for event in events if event.tensor.origin is not Source.MAYBE_CAST]
        changes, back = {event.change for event in events}, storage in returned
        converted = Change.CONVERTED in changes <= {Change.CONVERTED, Change.SHIFTED}
        for event in events:
            if (back or converted) and not event.filled:
                m.state.set(m.state[RETURNED], event, tensor)
            if converted or (changes == {Change.MARKED} and not back):
                m.state.set(m.state[RETURNED], (event.change, event), tensor)


def peeked(m: Trace, args: Sequence[Value], born: int) -> None:
    """A function that is called as a statement may be meant to change its argument, but not by a name for its values.

    Who writes to ``values = x.detach()`` takes that for a copy; parameters are changed so on purpose.
    """
    for tensor in [found for arg in args for found in direct_tensors(m, arg)] if m.state[WRITES] else ():
        state = m.cell(tensor)
        for event in since(m, tensor, born) if state.node is not None or not state.grad else ():
            by, inner = event.tensor, event.frames[-1]
            named = bool(event.name) and m.see(inner.vars.get(event.name, NONE)) is by
            if (
                named
                and by.time > born
                and by.cell is not tensor.cell
                and by.view is tensor.view
                and event.change is not Change.OTHER
            ):
                m.state.set(m.state[RETURNED], event, tensor)


@events.announce.listen
def announced(m: Trace, args: Iterable[Value], begin: int) -> None:
    """The caller knows that what it called since ``begin`` overwrites these arguments."""
    for tensor in [found for arg in args for found in direct_tensors(m, arg)] if m.state[WRITES] else ():
        for event in since(m, tensor, begin):
            for key in (event, (Change.CONVERTED, event), (Change.MARKED, event)):
                m.state.set(m.state[RETURNED], key, None)
