"""Arguments that a function overwrites and its caller goes on to read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..heap.regions import base_of, is_base, unshaped
from ..heap.state import Declared, latest, same_or_none
from ..heap.values import (
    NONE,
    Array,
    Const,
    Dict,
    Grad,
    List,
    Object,
    Slice,
    Source,
    Storage,
    Tensor,
    Tuple,
    Unknown,
    Value,
    constant,
)
from ..rule import Rule
from ..torchfacts.kinds import SCALING, plain
from ..trace import events
from ..trace.frames import Frame
from ..trace.log import (
    ENTRIES,
    PLACES,
    RETURNED,
    USED,
    WRITES,
    Change,
    Overwrite,
    array_backing,
    attributes_bound,
    direct_tensors,
    given_tensors,
    is_record,
    since,
    spelled,
)
from ..trace.trace import Trace
from .intent import copies_otherwise, is_statement, spelled_with
from .known import fills_parts

if TYPE_CHECKING:
    import libcst as cst

RULES = (
    Rule(
        "TIP304",
        "callers-tensor",
        "a function overwrites a tensor that its caller goes on to read",
        "argument",
        "overwrites the caller's tensor",
        other="read as {name}",
        effect="silently wrong",
        advice="work on a `clone()`",
        silent=True,
        at_run_time=False,
    ),
)


HANDED_BACK: Declared[tuple[Overwrite, Value], int] = Declared(latest)
"""When a function returned the list, dictionary or record that it overwrote a tensor of, by the write and by that."""
PASSED_ON: Declared[tuple[Frame, Value], int] = Declared(latest)
"""When a variable got such a record, if it has another value by now: ``view = scaled(view)``, ``view = turn(view)``."""
SEEN: Declared[Storage, int] = Declared(latest)
"""When a variable, attribute or element with the memory of an overwritten tensor was last read."""
READING: Declared[Storage, tuple[cst.CSTNode | None, int] | None] = Declared(same_or_none)
"""The statement that read it last, and when another one had read it before."""
FACTORS = 3
"""How many operators lie between a result and a change that is computed from it: ``(limit / norm).clamp(max=1)``."""


@events.read_variable.listen
def on_read_variable(m: Trace, name: str, value: Value, frame: Frame, index: tuple[Value, ...]) -> None:
    _note_seen(m, value)


@events.read_attribute.listen
def on_read_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    _note_seen(m, value)


@events.load.listen
def on_load(m: Trace, container: List | Dict, value: Value, known: bool) -> None:
    _note_seen(m, value)


def _note_seen(m: Trace, value: Value) -> None:
    """Note when a program reads what it has overwritten."""
    for tensor in direct_tensors(m, value) if len(m.state[WRITES]) and m.stack.frames else ():
        if tensor.storage in m.state[WRITES]:
            line, last = m.stack.frames[-1].line, m.state[READING].get(tensor.storage)
            if last is None or last[0] is not line:
                m.state.set(m.state[READING], tensor.storage, (line, m.state[SEEN].get(tensor.storage, 0)))
            m.state.set(m.state[SEEN], tensor.storage, m.clock)


@events.logged.listen
def on_logged(m: Trace, event: Overwrite) -> None:
    """Forget the reads of a statement that overwrites what it reads: ``x /= x.sum()``."""
    last = m.state[READING].get(event.tensor.storage)
    if last is not None and last[0] is event.line:
        m.state.set(m.state[SEEN], event.tensor.storage, last[1])


@events.returns.listen
def on_return(m: Trace, args: Sequence[Value], result: Value, born: int, used: bool) -> None:
    """Note the arguments that a function overwrote, for later reads of the caller."""
    if used:
        _note_handed_back(m, args, m.see(result), born)
        _note_overwritten(m, args, result, born)
    else:
        _forget_returned(m, args, result, born)
        _note_overwritten_by_alias(m, args, born)


def _forget_returned(m: Trace, args: Sequence[Value], result: Value, born: int) -> None:
    """Forget the writes to an argument that a call as a statement returns, as the in-place methods of PyTorch do."""
    returned = {tensor.storage.memory for tensor in direct_tensors(m, result)} if m.state[RETURNED] else set()
    for arg in args if returned else ():
        if any(tensor.storage.memory in returned for tensor in direct_tensors(m, arg)):
            on_announce(m, [arg], born)


def _note_overwritten(m: Trace, args: Sequence[Value], result: Value, born: int) -> None:
    """Note overwritten arguments of a call whose result is used.

    If the function returns the tensor, the caller may read it under the old name too. If it converted the tensor and
    returns something else, the caller may not know that its tensor has changed.
    """
    if not m.state[WRITES]:
        return
    outcome = m.see(result)
    whole = outcome if any(m.see(arg) is outcome for arg in args) else NONE
    results = [*direct_tensors(m, result)]
    if whole is NONE and (isinstance(outcome, (List, Dict)) or is_record(outcome)):
        results += given_tensors(m, outcome, NONE, 1)
    if not results and not isinstance(outcome, (Object, Dict, List, Tuple, Unknown, Array)):
        return
    every = [tensor for arg in args for tensor in given_tensors(m, arg, whole)]
    given = {tensor.storage: tensor for tensor in every}
    returned = {tensor.storage.memory for tensor in results}
    direct = {tensor.storage for arg in args for tensor in direct_tensors(m, arg)}
    for storage, tensor in given.items():
        back, inner = storage.memory in returned, storage not in direct
        alone = all(found is tensor for found in every if found.storage is storage)
        writes = _writes_since(m, tensor, born, alone) if not _is_initialised(m, tensor) else []
        if writes and not _gives_back(m, outcome, storage, writes) and (back or not _is_left(m, storage, writes)):
            scaled = not inner and _is_scaled_on_the_way(m, tensor, writes, results)
            _note_writes(m, tensor, writes, args, born, back or scaled, inner)


def _is_initialised(m: Trace, tensor: Tensor) -> bool:
    """Whether a constructor was given a leaf that requires grad: it gives a parameter its first values."""
    state, function = m.cell(tensor), m.stack.frames[-1].function
    return state.grad is Grad.YES and state.leaf and function is not None and function.name == "__init__"


def _is_left(m: Trace, storage: Storage, writes: list[Overwrite]) -> bool:
    """Whether a call reads nothing of what it wrote, and doesn't return it: it can only be for the caller.

    ``count = (x > 1).sum()``, ``x.clamp_(max=1)`` and ``return count``.
    """
    alone = all(event.form in ("augmented", "subscript") or is_statement(event) for event in writes)
    return alone and m.state[SEEN].get(storage, 0) < min((event.time for event in writes), default=0)


def _gives_back(m: Trace, result: Value, storage: Storage, writes: list[Overwrite]) -> bool:
    """Whether a call returns what it took out of a tensor, or a copy of the old values: it knows that it changes them.

    ``x -= mean`` and ``return mean``; ``labels = ids.clone()``, ``ids[mask] = 3`` and ``return labels``. So does one
    that returns what it computes the change from: ``norm = grad.norm()``, ``grad *= limit / norm`` and ``return norm``.
    """
    items = [array_backing(m.see(item)) for item in (result.items if isinstance(result, Tuple) else (result,))]
    taken = [value for event in writes for value in event.written.values if not isinstance(value, Const)]
    begun = min((event.time for event in writes), default=0)
    factors = [found for value in taken if _is_factor(m, value, storage) for found in _computed_from(m, [value], begun)]
    for item in items:
        made = base_of(item).made if isinstance(item, Tensor) else None
        if item in taken and not _is_of(item, storage):
            return True
        apart = isinstance(item, Tensor) and item.storage.memory != storage.memory
        if apart and item in factors and any(_is_of(value, storage) for value in _computed_from(m, [item], begun)):
            return True
        old = made is not None and made.op in ("clone", "copy") and made.time < begun
        if made is not None and old and any(_is_of(value, storage) for value in made.values):
            return True
    return False


def _is_of(value: Value, storage: Storage) -> bool:
    return isinstance(value, Tensor) and value.storage is storage


def _is_factor(m: Trace, value: Value, storage: Storage) -> bool:
    """Whether a value changes a tensor, and does not replace it by what was computed from it, as ``out=`` does."""
    made = value.made if isinstance(value, Tensor) else None
    return made is not None and not any(_is_of(array_backing(m.see(part)), storage) for part in made.values)


def _computed_from(m: Trace, values: Iterable[Value], before: int, depth: int = FACTORS) -> list[Value]:
    """Return what tensors were computed from before a time, and that from what it was."""
    made = [value.made for value in values if isinstance(value, Tensor) and value.made is not None]
    found = [array_backing(m.see(value)) for origin in made if origin.time < before for value in origin.values]
    return found + _computed_from(m, found, before, depth - 1) if found and depth > 1 else found


def _note_writes(
    m: Trace, tensor: Tensor, writes: list[Overwrite], args: Sequence[Value], born: int, back: bool, inner: bool
) -> None:
    """Note the writes of a call to one tensor that it was given.

    ``back``: the call returns the tensor, or what it has joined it with. ``inner``: it came in a container or instance.
    """
    changes = {event.change for event in writes}
    converted = Change.CONVERTED in changes <= {Change.CONVERTED, Change.SHIFTED} and not fills_parts(m, tensor, writes)
    converted = converted or all(_rules_out(m, tensor, event) for event in writes)
    for event in writes:
        if _is_packed(m, event):
            continue
        if ((back or converted) and not event.filled) or _is_aside(m, event, tensor, args, born):
            m.state.set(m.state[RETURNED], event, tensor)
        if inner and (back or is_in_copy(m, event, args)):
            m.state.set(m.state[RETURNED], (Change.OTHER, event), tensor)
        if converted or (changes == {Change.MARKED} and not back):
            m.state.set(m.state[RETURNED], (event.change, event), tensor)


def _rules_out(m: Trace, tensor: Tensor, event: Overwrite) -> bool:
    """Whether a write rules elements out by an infinity, for a softmax or a maximum: ``logits[:, banned] = -inf``.

    A mask that was made to be filled is left out. So is what a loop gives to each call: once more changes nothing.
    """
    base, number = base_of(tensor), constant(event.written.values[-1]) if event.written.values else None
    if not (isinstance(number, float) and math.isinf(number)) or base.origin is Source.BLANK:
        return False
    made = base.made.time if base.made is not None else 0
    given_by_loop = any(loop.began > made for frame in m.stack.frames[:-1] for loop in frame.loops)
    return event.written.op in ("setitem", "masked_fill_", "index_fill_") and not given_by_loop


def _is_scaled_on_the_way(m: Trace, tensor: Tensor, writes: list[Overwrite], results: Sequence[Tensor]) -> bool:
    """Whether the only write to an argument scales it for a result: ``return x + noise.mul_(scale)``.

    The function wants the sum. Its caller doesn't expect that what it has made itself, and not before a loop that calls
    the function again and again, is another tensor then. A call as a statement, ``noise.mul_(scale)``, is to change it.
    """
    if len(writes) != 1 or len(m.stack.frames) < 2:
        return False
    event, caller, made = writes[0], m.stack.frames[-2], base_of(tensor).made
    begun = max((caller.born, *(loop.began for loop in caller.loops)))
    fresh = made is not None and made.time >= begun and bool(event.name)
    scales = plain(event.written.op.removesuffix("_")) in SCALING
    return fresh and scales and not is_statement(event) and _is_joined(m, results, tensor.storage)


def _is_joined(m: Trace, values: Iterable[Value], storage: Storage, depth: int = FACTORS) -> bool:
    """Whether tensors were computed from those of a storage and from others: a sum, a product."""
    for made in [value.made for value in values if isinstance(value, Tensor) and value.made is not None]:
        operands = [array_backing(m.see(value)) for value in made.values]
        of = [_is_of(operand, storage) for operand in operands if isinstance(operand, Tensor)]
        if (any(of) and not all(of)) or (depth > 1 and _is_joined(m, operands, storage, depth - 1)):
            return True
    return False


def _writes_since(m: Trace, tensor: Tensor, born: int, alone: bool) -> list[Overwrite]:
    """Return the writes of a call to a tensor that it was given. ``alone``: it was given no other of that memory."""
    writes = since(m, tensor, born)
    if not is_base(tensor):
        writes = [event for event in writes if alone or event.tensor is tensor]
    if tensor.origin is not Source.MAYBE_CAST:  # a cast of the function's own may have copied
        writes = [event for event in writes if event.tensor.origin is not Source.MAYBE_CAST]
    return [event for event in writes if not copies_otherwise(m, event)]


def _is_aside(m: Trace, event: Overwrite, tensor: Tensor, args: Sequence[Value], born: int) -> bool:
    """Return whether a write went through a detached alias or an array, in a form that may look like a new value.

    So does one that marks the alias, ``v = x.detach()`` and ``v[mask] = 0``, for the result of the call. So does one by
    a second name, ``out = x``, of values that were read by the first: ``out.index_add_(0, index, x[source])``.
    """
    apart = event.form == "augmented" or event.written.array or event.change is Change.MARKED
    return (apart and _is_by_alias(m, event, tensor, args, born)) or _is_by_second_name(m, event, tensor)


def _is_by_second_name(m: Trace, event: Overwrite, tensor: Tensor) -> bool:
    frame = event.frames[-1]
    names = [name for name, value in frame.vars.items() if array_backing(m.see(value)) is tensor]
    older = [name for name in names if frame.bound(name) == frame.born]
    return event.name in names and event.name not in older and spelled_with(event.site, older)


def _note_handed_back(m: Trace, args: Sequence[Value], result: Value, born: int) -> None:
    """Note the writes to tensors of a container or record that a function was given and returns as it is."""
    if not m.state[WRITES] or not any(m.see(arg) is result for arg in args) or isinstance(result, Tensor):
        return
    for tensor in given_tensors(m, result, NONE, 1):
        for event in since(m, tensor, born):
            m.state.set(m.state[HANDED_BACK], (event, result), m.clock)


@events.bind.listen
def on_bind(m: Trace, frame: Frame, name: str, value: Value) -> None:
    """Note a variable that had a record which a call handed back, and gets another value."""
    held = m.see(frame.vars.get(name, NONE)) if m.state[HANDED_BACK] else NONE
    if isinstance(held, (List, Dict, Object)):
        m.state.set(m.state[PASSED_ON], (frame, held), frame.bound(name))


def judge_handed_back(m: Trace, value: Tensor, holder: Value, event: Overwrite) -> None:
    """Report the read of ``batch["x"]`` after ``inputs = prepare(batch)``, which overwrote it and returned ``batch``.

    The caller has two names for what it takes for two. With one name, ``batch = prepare(batch)``, it wants the new one.
    """
    frame = m.stack.frames[-1]
    if not m.state[HANDED_BACK].get((event, holder)) or frame not in event.frames[:-1]:
        return
    names = [name for name, bound in frame.vars.items() if m.see(bound) is holder]
    older = [name for name in names if frame.bound(name) < event.time]
    newer, here = [name for name in names if name not in older], m.here()
    kept = m.state[PASSED_ON].get((frame, holder), 0) > event.time or holder in attributes_bound(m, frame, event.time)
    if (newer or kept) and spelled_with(here, older) and not spelled_with(here, newer):
        m.refuse("argument", event.site, guard=event.guard)


def _is_packed(m: Trace, event: Overwrite) -> bool:
    """Whether a write fills an output piece by piece: ``out[offset:offset + n] = piece``.

    A piece of what is overwritten, ``x[:, a:b] = x[order][:, a:b]``, is no output.
    """
    bounds = [(each.lower, each.upper) for each in event.written.index or () if isinstance(each, Slice)]
    spans = event.change is Change.OTHER and any(low != NONE and not isinstance(high, Const) for low, high in bounds)
    pieces = [base_of(value) for value in event.written.values if isinstance(value, Tensor)] if spans else []
    own = any(_is_of(value, event.tensor.storage) for value in _computed_from(m, pieces, event.time))
    return spans and not own


def is_in_copy(m: Trace, event: Overwrite, args: Sequence[Value]) -> bool:
    """Whether ``out[key] += x`` overwrote an element of a list or dictionary that the call made of an argument.

    A shallow copy, ``out = dict(given)``, holds the same tensors.
    """
    container = spelled(m, event)
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
            filled = event.written.array and event.form == "subscript" and event.change is not Change.CONVERTED
            own = event.change is not Change.OTHER and not filled  # an array may be made to fill what it shows
            if (own or event in m.state[USED]) and _is_by_alias(m, event, tensor, args, born):
                m.state.set(m.state[RETURNED], event, tensor)


def _is_by_alias(m: Trace, event: Overwrite, tensor: Tensor, args: Sequence[Value], born: int) -> bool:
    """Whether a call overwrote an argument by a name for its ``detach()``, or for an array over it, made in the call.

    Parameters are left out: they are updated like this on purpose.
    """
    state, by = m.cell(tensor), unshaped(event.tensor)
    named = [spelled(m, event)] if event.name else attributes_bound(m, event.frames[-1], born)
    apart = by.time > born and by.cell is not tensor.cell and by.view is unshaped(tensor).view
    if event.written.array:
        apart = apart or all(not isinstance(each, Array) or each.tensor is not tensor for each in map(m.see, args))
    return apart and (state.node is not None or not state.grad) and event.tensor in tuple(map(array_backing, named))


@events.announce.listen
def on_announce(m: Trace, args: Iterable[Value], begin: int) -> None:
    """Forget the writes to these arguments since ``begin``: the call declares that it works in place."""
    for tensor in [found for arg in args for found in direct_tensors(m, arg)] if m.state[WRITES] else ():
        for event in since(m, tensor, begin):
            for key in (event, (Change.CONVERTED, event), (Change.MARKED, event), (Change.OTHER, event)):
                m.state.set(m.state[RETURNED], key, None)
