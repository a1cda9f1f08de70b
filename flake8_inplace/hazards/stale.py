"""Values that are read after they were overwritten, which no version counter notices."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from ..heap.regions import plain, same_tensor
from ..heap.values import NONE, Choice, Dict, Grad, List, Object, Tensor, Tuple, Value
from ..rule import Rule
from ..trace import events, holdings
from ..trace.frames import Frame
from ..trace.log import (
    KEEPERS,
    PLACES,
    RETURNED,
    STORED,
    WRITES,
    YIELDS,
    Change,
    Overwrite,
    Yielded,
    again,
    array_backing,
    direct_tensors,
    since,
    whole,
)
from ..trace.trace import Trace
from .intent import is_meant, writes_to_attribute
from .overlap import untouched, written_region
from .snapshots import UPDATES

RULES = (
    Rule(
        "TIP303",
        "stale-read",
        "a value is read after it was overwritten under another name",
        "read",
        "overwrites a value that is read afterwards under another name, silently; use the out-of-place form, or "
        "`clone()` what is kept",
        silent=True,
        at_run_time=False,
    ),
)


@events.read_variable.listen
def read_name(m: Trace, name: str, value: Value, frame: Frame, index: tuple[Value, ...]) -> None:
    """A variable is read, or its elements at ``index``: are they still what they were when it was bound?"""
    if not isinstance(value, Tensor):
        return
    for event in since(m, value, frame.times.get(name, frame.born)):
        if frame is event.frames[-1]:
            if index and untouched(m, value, index, event):
                continue
            wrote = whole(value, event) or (event.name != name and _is_part(m, value, event, frame))
            if event.name and wrote and not is_meant(m, event, name, frame):
                m.refuse("read", event.site)
        elif frame in event.frames and m.stack.frames[-1] is frame:
            if was_given(m, value, event):
                m.refuse("argument", event.site)
            elif value.view == "" and name in frame.times and again(m, event, frame.times[name]):
                m.refuse("read", event.site)


def _is_part(m: Trace, value: Tensor, event: Overwrite, frame: Frame) -> bool:
    """Whether a part of a tensor was overwritten by a name for the whole: ``y[:2].zero_()``, where ``y`` is ``x``.

    A name for a view, ``y = x[:]``, says that ``x`` is meant.
    """
    spelled = m.see(frame.vars.get(event.name, NONE))
    if event.tensor.region is None or not isinstance(spelled, Tensor):
        return False
    return spelled is value or (spelled.region is None and same_tensor(spelled, value))


@events.read_part.listen
def read_part(m: Trace, value: Value) -> None:
    """A part of something that others hold is read."""
    _read_part(m, value, None)


def _read_part(m: Trace, value: Value, holder: Value | None) -> None:
    """A part of something that others hold is read: ``batch["labels"]``, after a function converted or marked it.

    What takes other values in may be meant to be found there: a tile that was blended with the one before. What has a
    name of its own, or stands in a list, may have been made to be marked.
    """
    if m.state[WRITES] and isinstance(value, Tensor) and not m.unread:
        frame = m.stack.frames[-1]
        held = m.state[STORED].get((holder, value.storage), 0)
        made = holder.time if isinstance(holder, List) else 0
        for event in since(m, value, max(frame.born, held, made)):
            converted = event.change is Change.CONVERTED and (was_given(m, value, event) or _has_part(m, value, event))
            meant = event.change is Change.MARKED and isinstance(holder, List)
            changed = value is m.state[RETURNED].get((event.change, event)) and not meant
            if frame in event.frames[:-1] and (converted or changed):
                m.refuse("argument", event.site)


@events.read_attribute.listen
def read_attribute(m: Trace, instance: Object, name: str, value: Value) -> None:
    """What an instance keeps is read: is it still what was computed when it was kept?

    ``self.features = x`` says nothing of what ``x = relu_(x)`` or others do next. Who filled parts of it where it was
    kept, or has read it and so has a name for it, may mean to change it.
    """
    time = m.state[STORED].get((instance, name), 0) if m.state[STORED] else 0
    if not time or m.unread or not isinstance(value, Tensor):
        return
    keeper, state = m.state[KEEPERS].get((instance, name)), m.cell(value)
    parameter = state.grad is Grad.YES and state.leaf
    for event in since(m, value, time) if value.origin != "blank" and not parameter else ():
        elsewhere = event.frames[-1] is not keeper or event.form in ("inplace", "augmented")
        if elsewhere and event.name and whole(value, event) and not writes_to_attribute(event.site):
            m.refuse("read", event.site)
    m.state.set(m.state[STORED], (instance, name), 0)


def _has_part(m: Trace, value: Tensor, event: Overwrite) -> bool:
    """Whether a function was given a part of a tensor, and nobody else has written to that tensor since."""
    given = m.state[RETURNED].get(event)
    if given is None or value.view or not given.view or given.storage is not value.storage:
        return False
    return all(later.frames[-1] is event.frames[-1] for later in since(m, value, event.time))


def was_given(m: Trace, value: Tensor, event: Overwrite) -> bool:
    """Whether this is what was given to a function that overwrote it: the same view, or the same whole tensor."""
    given = m.state[RETURNED].get(event)
    return given is not None and (value is given or value.view == given.view == "")


@events.read_operand.listen
def operand(m: Trace, value: Value, time: int, named: bool) -> None:
    """An operand was evaluated at ``time``; another one of the same expression may have overwritten it.

    One that has no name of its own counts if it is a view: ``x[0] * torch.sigmoid_(x)``.
    """
    if isinstance(value, Tensor):
        for event in since(m, value, time):
            same = value.region is not None and same_tensor(value, event.tensor) and event.written.index is None
            if same or (named and whole(value, event)) or _is_within(value, event):
                m.refuse("read", event.site)


def _is_within(value: Tensor, event: Overwrite) -> bool:
    """Whether a value is a view of what was overwritten as a whole."""
    base, wrote = event.tensor, event.written.index is None
    return wrote and value.view == "view" and base.view == "" and not {value.origin, base.origin} & {"maybe", "cast"}


@events.store.listen
def stored(m: Trace, container: List | Dict, value: Value) -> None:
    """A container takes a value.

    A parameter is put there to be found, not to be kept as it is now, and so is memory that nothing was written to yet.
    """
    value = array_backing(m.see(value))
    for item in value.items if isinstance(value, Tuple) and isinstance(container, List) else ():
        stored(m, container, item)
    if not isinstance(value, Tensor) or (value.origin == "blank" and value.storage not in m.state[WRITES]):
        return
    state = m.cell(value)
    if state.grad is Grad.YES and state.leaf:
        return
    before = m.state[STORED].get((container, value.storage))
    if not before or isinstance(container, Dict) or not since(m, value, before):
        m.state.set(m.state[STORED], (container, value.storage), m.tick())


@events.append.listen
def appended(m: Trace, container: List, value: Value) -> None:
    """A list takes a tensor, or a record of some, once more: both elements show what was written since."""
    for key, item in _entries(m, array_backing(m.see(value))).items():
        part = array_backing(m.see(item))
        time = m.state[STORED].get((container, part.storage)) if isinstance(part, Tensor) else None
        if isinstance(part, Tensor) and time:
            events = [event for event in since(m, part, time) if whole(part, event)]
            others = (_entries(m, m.see(other)) for other in m.state.get(container).items) if events else ()
            if any(other.get(key) is part for other in others):
                for event in events:
                    m.refuse("read", event.site)
        stored(m, container, part)


def _entries(m: Trace, value: Value, place: tuple[Hashable, ...] = ()) -> dict[tuple[Hashable, ...], Value]:
    """A value by itself, or what a tuple, a dictionary or a dataclass holds, by its place there."""
    inside: Iterable[tuple[Hashable, Value]] = ()
    if len(place) < PLACES:
        if isinstance(value, Tuple):
            inside = enumerate(value.items)
        elif isinstance(value, Dict) or (isinstance(value, Object) and bool(getattr(value.cls, "fields", False))):
            inside = m.state.get(value).items.items()
    if not isinstance(value, (Tuple, Dict, Object)):
        return {place: value}
    found: dict[tuple[Hashable, ...], Value] = {}
    for key, item in inside:
        found |= _entries(m, m.see(item), (*place, key))
    return found


@events.pass_on.listen
def passed_on(m: Trace, source: Value, container: List | Dict, values: Iterable[Value]) -> None:
    """A container takes over what another one holds, as it was when that one took it."""
    source = m.see(source)
    for value in map(m.see, values) if m.state[STORED] else ():
        if isinstance(value, Tensor) and (time := m.state[STORED].get((source, value.storage))):
            m.state.set(m.state[STORED], (container, value.storage), time)


@events.store_key.listen
def named(m: Trace, container: Dict, key: Hashable, value: Value) -> None:
    """A dictionary is given a value under a second key: if a part was overwritten before, under the first one too."""
    value = m.see(value)
    if not isinstance(value, Tensor) or not m.state[WRITES] or not m.stack.frames:
        return
    held = m.state.get(container).items
    others = [m.see(item) for name, item in held.items() if name != key]
    if value in others:
        for event in since(m, value, max(m.stack.frames[-1].born, m.state[STORED].get((container, value.storage), 0))):
            if event.written.index is not None and whole(value, event):
                m.refuse("read", event.site)


@events.load.listen
def taken(m: Trace, container: List | Dict, value: Value, known: bool) -> None:
    """An element of a container is read; who has a name for it, may from now on overwrite it on purpose."""
    value = array_backing(value)
    if isinstance(value, Tuple) and m.state[STORED]:
        for item in map(m.see, value.items):
            taken(m, container, item, known)
        return
    _read_part(m, value, container)
    options = [array_backing(option) for _, option in value.options] if isinstance(value, Choice) else [value]
    for option in options if m.state[STORED] else ():
        if not isinstance(option, Tensor):
            continue
        time = m.state[STORED].get((container, option.storage), 0)
        for event in since(m, option, time) if option is value else ():
            if time and was_given(m, option, event):
                m.refuse("argument", event.site)
            elif known and time and (_same_part(m, option, event, time) or _as_it_was(m, option, event, time)):
                m.refuse("read", event.site)
        if time and known:
            m.state.set(m.state[STORED], (container, option.storage), 0)


def _as_it_was(m: Trace, value: Tensor, event: Overwrite, time: int) -> bool:
    """Whether a whole tensor that was kept at ``time`` was kept to stay as it was."""
    return value.origin in ("op", "blank") and whole(value, event) and _unaware(m, event, time)


def _same_part(m: Trace, value: Tensor, event: Overwrite, time: int) -> bool:
    """Whether a part that was stored at ``time`` is what was overwritten: both are taken with the same index.

    So it is where a function that was called afterwards says ``x *= 2`` of the whole tensor.
    """
    if value.region is None:
        return False
    if event.form == "augmented" and event.tensor.view == "" and event.frames[-1].born > time:
        return bool(event.name)
    over = written_region(event)
    if event.frames[-1].born > time or over is None or not same_tensor(value.region.base, over[0]):
        return False
    spelled = event.written.index is not None or _is_part(m, over[0], event, event.frames[-1])
    return spelled and plain(value.region.index) == plain(over[1])


@events.remove.listen
def dropped(m: Trace, container: List | Dict, value: Value) -> None:
    """An element leaves a container."""
    value = array_backing(m.see(value))
    if isinstance(value, Tensor) and (container, value.storage) in m.state[STORED]:
        m.state.set(m.state[STORED], (container, value.storage), 0)


@events.bind.listen
def bound(m: Trace, frame: Frame, name: str, value: Value) -> None:
    """A variable is bound."""
    if m.state[WRITES] and frame.vars.get(name) is value:
        rebound(m, value, frame.times.get(name, frame.born))


@events.set_attribute.listen
def attribute_bound(m: Trace, instance: Object, name: str, value: Value) -> None:
    """An attribute is bound: it takes the value as it is now."""
    if m.state[WRITES] and m.state.get(instance).items.get(name) is value:
        rebound(m, value, m.state[STORED].get((instance, name), 0))
    if len(m.state[WRITES]) or len(m.state[UPDATES]) or isinstance(value, Tensor):
        m.state.set(m.state[STORED], (instance, name), m.tick())
        m.state.set(m.state[KEEPERS], (instance, name), m.stack.frames[-1])


def rebound(m: Trace, value: Value, time: int) -> None:
    """A variable is given, under a condition, the very tensor that it stands for since ``time``.

    Where a function overwrote it and handed it back, there is no old value left to stay with: ``if better: x = y``.
    """
    if not isinstance(value, Tensor):
        return
    guard = m.state.guard()
    for event in since(m, value, time):
        if was_given(m, value, event) and event.guard < guard:
            m.refuse("argument", event.site)


@events.exhaust.listen
def outlived(m: Trace, source: Value, begin: int) -> None:
    """What a loop over a generator has kept since ``begin``, it kept before the generator went on to overwrite it."""
    for yielded in m.state[YIELDS].get(source, ()) if m.state[YIELDS] and isinstance(source, List) else ():
        time, frame, value = yielded.time, yielded.frame, yielded.value
        for tensor in direct_tensors(m, array_backing(m.see(value))):
            if any(frame in event.frames for event in since(m, tensor, time)):
                for key, moment in list(m.state[STORED].items()):
                    if key[1] is tensor.storage and moment > begin and not isinstance(key[0], str):
                        m.state.set(m.state[STORED], key, time)


@events.yields.listen
def yielded(m: Trace, frame: Frame, values: List, items: Sequence[Value]) -> None:
    """A generator yields values."""
    now = tuple(Yielded(m.tick(), frame, item) for item in items)
    m.state.set(m.state[YIELDS], values, (*m.state[YIELDS].get(values, ()), *now))


@events.derive.listen
def derived(m: Trace, values: List, source: Value) -> None:
    """A list stands for what a generator yields, as ``source`` does."""
    if source in m.state[YIELDS]:
        m.state.set(m.state[YIELDS], values, (*m.state[YIELDS].get(values, ()), *m.state[YIELDS][source]))


@events.collect.listen
def collected(m: Trace, source: Value, rows: Sequence[Value]) -> None:
    """All that a generator yields is kept before any of it is used: what it overwrote meanwhile is lost."""
    found = m.state[YIELDS].get(source, ()) if m.state[YIELDS] and isinstance(source, List) else ()
    memory = {tensor.storage for row in rows for tensor in holdings.held(m, row, set())} if found else set()
    for one in found:
        for tensor in holdings.held(m, one.value, set()):
            for event in since(m, tensor, one.time) if tensor.storage in memory else ():
                if one.frame in event.frames and whole(tensor, event):
                    m.refuse("read", event.site)


def _unaware(m: Trace, event: Overwrite, time: int) -> bool:
    """Whether who wrote did not mean the element of the container: it has filled parts of it where it put it there."""
    if event.form == "subscript" and event.frames[-1] is m.stack.frames[-1]:
        return False
    return bool(event.name) or again(m, event, time)
