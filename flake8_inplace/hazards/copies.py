"""Shallow copies: a copy of a container or an instance holds the same tensors, and shows what is written to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..heap.state import Declared, latest, union
from ..heap.values import Choice, Dict, Grad, List, Object, Tensor, Value
from ..program.site import Site
from ..trace import events
from ..trace.frames import Frame
from ..trace.log import COPIED, WRITES, Overwrite, array_backing, lies_in, since, spelled, whole
from ..trace.trace import Trace
from .intent import attribute_written

ORIGINALS: Declared[tuple[Value, Tensor], int] = Declared(latest)
"""The same, by what it is a copy of."""
LIST_COPIES: Declared[List, frozenset[List]] = Declared(union)
"""The shallow copies of a list."""


@events.copied.listen
def on_copied(m: Trace, source: Value, copy: Value, explicit: bool) -> None:
    """Note a copy that was made for the values of that time.

    ``list(tensors)`` of an argument only makes a list of whatever a caller gives. Parameters are updated in all of
    their holders. A slice of a list may be taken to write to its elements.
    """
    given = m.stack.frames[-1].arguments() if m.stack.frames else ()
    if isinstance(source, List) and isinstance(copy, List):
        m.state.set(m.state[LIST_COPIES], source, m.state[LIST_COPIES].get(source, frozenset()) | {copy})
    if not explicit and any(m.see(value) is source for value in given):
        return
    now, held, had = m.tick(), _tensors(m, copy), _tensors(m, source)
    complete, shared = not isinstance(copy, List) or held == had, set(had)
    for tensor in [each for each in held if each in shared]:
        state = m.cell(tensor)
        if state.grad is not Grad.YES or not state.leaf:
            m.state.set(m.state[COPIED], (copy, tensor), now)
            if complete:
                m.state.set(m.state[ORIGINALS], (source, tensor), now)


def _tensors(m: Trace, copy: Value) -> list[Tensor]:
    held: Iterable[Value] = ()
    if isinstance(copy, List):
        held = m.state.get(copy).items
    elif isinstance(copy, (Dict, Object)):
        held = m.state.get(copy).items.values()
    return [tensor for value in held if isinstance(tensor := array_backing(m.see(value)), Tensor)]


@events.load.listen
def on_load(m: Trace, container: List | Dict, value: Value, known: bool) -> None:
    """Judge an element that is read in a list or dictionary, or in a copy of it."""
    _judge(m, container, value)
    _judge_original(m, container, value)
    if isinstance(container, List) and m.state[WRITES]:
        for copy in m.state[LIST_COPIES].get(container, frozenset()):
            _judge_beside(m, container, copy, value)


@events.load_state_dict.listen
def on_load_state_dict(m: Trace, module: Value, states: Value, parameters: Sequence[Tensor], site: Site) -> None:
    """Judge a state that is loaded: all of it is read, by no name of an entry."""
    for value in m.state.get(states).items.values() if isinstance(states, Dict) else ():
        _judge_original(m, states, value)


@events.read_attribute.listen
def on_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """Judge an attribute that is read in an instance, or in a copy of it."""
    _judge(m, instance, value)
    _judge_original(m, instance, value)


def _judge(m: Trace, copy: Value, value: Value) -> None:
    """Report the first read of a tensor in a copy if it was overwritten since, by a name for something else.

    Code that has read the copy before has a name for the tensor, and may write to it on purpose. That doesn't go for a
    write to an attribute of another instance.
    """
    for tensor in _options(m, value) if m.state[COPIED] else ():
        time = m.state[COPIED].get((copy, tensor), 0)
        if time:
            m.state.set(m.state[COPIED], (copy, tensor), -abs(time))
        for event in since(m, tensor, abs(time)) if time else ():
            own = spelled(m, event) is copy
            own = own or (time < 0 and not _of_another(copy, event))
            if not own and (whole(tensor, event) or lies_in(tensor, event)):
                m.refuse("read", event.site, guard=event.guard)


def _options(m: Trace, value: Value) -> list[Tensor]:
    options = [option for _, option in value.options] if isinstance(value, Choice) else [value]
    return [tensor for option in options if isinstance(tensor := array_backing(m.see(option)), Tensor)]


def _judge_original(m: Trace, source: Value, value: Value) -> None:
    """Report the first read of a tensor in what a copy was made of, if it was overwritten since through the copy.

    A write by a name for the tensor itself, as in ``for x in list(values): x.mul_(2)``, may be meant for both.
    """
    for tensor in _options(m, value) if m.state[ORIGINALS] else ():
        time = m.state[ORIGINALS].get((source, tensor), 0)
        if time:
            m.state.set(m.state[ORIGINALS], (source, tensor), 0)
        for event in since(m, tensor, time) if time else ():
            by = spelled(m, event)
            through = by is not source if isinstance(by, (Dict, List)) else bool(attribute_written(event))
            if through and (whole(tensor, event) or lies_in(tensor, event)):
                m.refuse("read", event.site, guard=event.guard)


def _judge_beside(m: Trace, source: List, copy: List, value: Value) -> None:
    """Report the read of an element of a list in a loop that overwrites the elements by a copy of the list.

    ``new = list(rows)``, ``for row in new: row -= project(row, rows[j])``: the copy is there for the rows to stay.
    """
    frame = m.stack.frames[-1] if m.stack.frames else None
    if frame is None or frame.function is None or frame.line is None:
        return
    names, copies = _names(m, frame, source), _names(m, frame, copy)
    for tensor in _options(m, value):
        for event in since(m, tensor, copy.time):
            all_of_it = whole(tensor, event) or lies_in(tensor, event)
            if event.frames[-1] is frame and all_of_it and _is_beside(m, event, frame, names, copies):
                m.refuse("read", event.site, guard=event.guard)


def _is_beside(m: Trace, event: Overwrite, frame: Frame, names: frozenset[str], copies: frozenset[str]) -> bool:
    """Whether a running loop wrote to an element by a name for the copy, and now reads one by another place."""
    from ..program.wording import loops_around, places

    body, line = m.text.body(frame.function)[0] if frame.function is not None else None, event.line
    if body is None or line is None or frame.line is None:
        return False
    read = places(frame.line, names)
    for depth, targets, over in loops_around(body, line, frame.line):
        running = len(frame.loops) >= depth and frame.loops[depth - 1].began < event.time
        element = event.name in targets and not copies.isdisjoint(over)
        written = targets if element else places(line, copies)
        if running and (element or event.name in copies) and not read & written:
            return True
    return False


def _names(m: Trace, frame: Frame, value: Value) -> frozenset[str]:
    return frozenset(name for name, bound in frame.vars.items() if m.see(bound) is value)


def _of_another(copy: Value, event: Overwrite) -> bool:
    """Whether a method overwrote an attribute of its own instance, and that is not the copy."""
    owner = event.frames[-1].receiver
    other = isinstance(copy, Object) and isinstance(owner, Object) and owner is not copy
    return other and bool(attribute_written(event))
