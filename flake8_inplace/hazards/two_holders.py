"""Two holders have a tensor that an operator relates to itself: one of them was to have another value."""

from __future__ import annotations

import builtins
from collections.abc import Sequence, Set
from typing import NamedTuple

from ..heap.values import NONE, Object, Storage, Tensor, Tuple, Value
from ..program.site import Site
from ..trace.frames import Frame
from ..trace.log import ATTRIBUTE_WRITERS, Overwrite, array_backing, direct_tensors, spelled
from ..trace.trace import Trace
from .changes import changes
from .intent import attribute_written
from .snapshots import Update
from .taken_out import taken_from


def goes_over(m: Trace, site: Site) -> bool:
    """Whether an operand is an element of a loop or comprehension, or what is at its position.

    Who goes over pairs comes to the pairs of equals, too.
    """
    from ..program.operands import operands
    from ..program.wording import indices

    frame = m.stack.frames[-1]
    names = [operand.name for operand in operands(site.expression) or ()]
    return any(_is_element(frame, name) for name in (*names, *indices(site.expression)))


def judge_holders(m: Trace, one: Tensor, other: Tensor, taken: Sequence[int], site: Site) -> bool:
    """Report a tensor that is related to itself if two have it, one of them no variable, and were to have two values.

    ``taken``: when attributes that the operands are took it. What the only holder beside a variable has written itself
    doesn't count: the variable may have got the new value.
    """
    from ..program.operands import operands

    frame, found = m.stack.frames[-1], operands(site.expression) or ()
    if any(operand.name not in frame.vars for operand in found):
        return False
    picked = [operand.name for operand in found if operand.path is None]
    storages = {one.storage, other.storage}
    taken_out = {holder: time for storage in storages for holder, time in taken_from(m, storage, frame).items()}
    times = [*taken_out.values()]
    times += [frame.bound(name) for name in picked if isinstance(m.see(frame.vars.get(name, NONE)), Tuple)]
    times += taken
    alone = len(times) < 2
    if not any(times) or (alone and len(picked) == len(found)):
        return False
    attributes = [operand.path[-1] for operand in found if operand.path]
    return _judge_since(m, (one, other), max(times), frozenset(taken_out), attributes, alone)


def _judge_since(
    m: Trace, tensors: Sequence[Tensor], time: int, owners: Set[Value], attributes: Sequence[str], alone: bool
) -> bool:
    """Report the first change of a tensor after a time; none by the only holder beside a variable, ``alone``."""
    for tensor in dict.fromkeys(tensors):
        for change in changes(m, tensor, time, 0, True):
            if change.site is not None and not (alone and _is_by_holder(m, change, owners, attributes)):
                m.refuse("read", change.site)
                return True
    return False


def _is_by_holder(m: Trace, change: Overwrite | Update, owners: Set[Value], attributes: Sequence[str]) -> bool:
    """Whether a change was written by one of the containers, or by an attribute of one of the names."""
    if not isinstance(change, Overwrite):
        return False
    written_by = spelled(m, change)
    return attribute_written(change) in attributes or written_by in owners


def judge_callers(m: Trace, one: Tensor, other: Tensor, site: Site) -> bool:
    """Report a tensor that a function relates to itself if it was given it twice, by two that have it: ``gap(x, old)``.

    A function that only hands on what it was given says nothing of who has it: its caller does. Nor does one that has
    made the second operand of the first: ``x - x.detach()``.
    """
    from ..program.operands import operands

    born = m.stack.frames[-1].born
    if operands(site.expression) is None or (one.time > born) is not (other.time > born):
        return False
    storages = {one.storage, other.storage}
    for caller, call in zip(m.stack.frames[-2::-1], reversed(m.stack.calls), strict=False):
        holders = _holders_in(m, caller, call, storages)
        if not holders or not all(holder.given for holder in holders):
            return len(holders) > 1 and _judge_between(m, holders, (one, other))
    return False


def _judge_between(m: Trace, holders: Sequence[_Holder], tensors: Sequence[Tensor]) -> bool:
    """Report the first change of a tensor since the last of its holders got it, if it is known when they did."""
    times = [holder.time for holder in holders]
    beside = [holder for holder in holders if holder.owner is not NONE]
    owners, attributes = {holder.owner for holder in beside}, [each.attribute for each in beside if each.attribute]
    return all(times) and _judge_since(m, tensors, max(times), owners, attributes, len(beside) < 2)


class _Holder(NamedTuple):
    """Who has a tensor in a call: since when, the container or instance, and its attribute; NONE is a variable.

    ``given``: the variable is an argument of the caller itself.
    """

    time: int
    owner: Value = NONE
    attribute: str = ""
    given: bool = False


def _holders_in(m: Trace, frame: Frame, call: Site, storages: set[Storage]) -> list[_Holder]:
    """Who has a tensor in the text of a call: variables, attributes, and the containers that it was taken out of.

    Nobody, if an element of a loop has it, or what is at the position of one.
    """
    from ..program.wording import indices, is_expression, paths

    if not is_expression(call.expression):
        return []  # an entry point, which nobody calls
    if any(_is_element(frame, name) for name in indices(call.expression)):
        return []
    found: dict[object, _Holder] = {}
    for path in paths(call.expression):
        name, attributes = path[0], path[1:]
        if name not in frame.vars:
            if _is_element(frame, name):
                return []
            continue
        value, holder = m.see(frame.vars[name]), _Holder(frame.bound(name), given=name not in frame.times)
        for attribute in attributes:
            if isinstance(value, Object):
                writer = m.state[ATTRIBUTE_WRITERS].get((value, attribute))
                holder = _Holder(writer[1] if writer is not None else 0, value, attribute)
                value = m.see(m.state.get(value).items.get(attribute, NONE))
        if isinstance(value, Tuple) and any(held.storage in storages for held in direct_tensors(m, value)):
            holder = _Holder(frame.bound(name), value)
        elif not isinstance(backing := array_backing(value), Tensor) or backing.storage not in storages:
            continue
        if name in frame.elements:
            return []
        found[path] = holder
    for storage in storages:
        for owner, time in taken_from(m, storage, frame).items():
            found[owner] = _Holder(time, owner)
    return list(found.values())


def _is_element(frame: Frame, name: str) -> bool:
    """Whether a name is the target of a loop, or of a comprehension: then the function itself does not know it."""
    outer: Frame | None = frame
    while outer is not None and name not in outer.vars:
        outer = outer.parent
    return name in frame.elements or (outer is None and not hasattr(builtins, name))
