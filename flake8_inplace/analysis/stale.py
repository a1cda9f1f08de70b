"""Values that are read after they were overwritten, which no version counter notices.

A write is remembered with the moment it happened at. A name that was bound, or an element that was stored, before that
moment, and that stands for the same whole tensor, is stale from then on, unless the program means it to follow the
write: that is asked of the text, see `_meant`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import libcst as cst

from .domain import (
    NONE,
    Array,
    Choice,
    Dict,
    Grad,
    Guard,
    List,
    Object,
    Ref,
    Tensor,
    Tuple,
    Unknown,
    Value,
    compatible,
    graph,
)
from .machine import Frame, Machine, Refusal, Site, is_number
from .tree import parts

METADATA = frozenset(
    "shape size dim ndim dtype device layout numel nelement stride is_contiguous is_floating_point requires_grad grad "
    "grad_fn is_leaf new_zeros new_ones new_empty new_full new_tensor data_ptr type element_size is_cuda names "
    "append extend insert clear requires_grad_ register_hook retain_grad data detach_ zero_ fill_ copy_ resize_ "
    "normal_ uniform_ bernoulli_ backward _version".split()
)
"""What reads no values of a tensor or elements of a list, or overwrites them whole."""
FILLING = frozenset("zero_ fill_ copy_ normal_ uniform_ bernoulli_ exponential_ random_ set_".split())
"""In-place methods that replace all values without reading them."""
INITIALIZING = frozenset(
    "zeros_ ones_ constant_ eye_ dirac_ trunc_normal_ orthogonal_ sparse_ xavier_uniform_ xavier_normal_ "
    "kaiming_uniform_ kaiming_normal_".split()
)
"""Functions of torch.nn.init that do so with their first argument."""
EVENTS = 8
"""The most writes to one memory that are remembered."""
PLACES = 3
"""How deep tensors are looked for in what a list takes, or a function is given."""
ENTRIES = 8
"""Of how many entries of a list or dictionary that a function is given."""
QUIET = frozenset({"len", "isinstance", "type", "id", "hasattr", "print"})
"""Builtins that do not compute with what they are given."""


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """A tensor was overwritten in place.

    ``name`` is the variable of ``frames[-1]`` that the write was spelled with, if it was one; ``line`` the statement;
    ``filled`` says that the function replaced all values first, as it does with an argument that is its output;
    ``made`` says what the new values are made of: "converted" of the old ones and of nothing else, "shifted" of the old
    ones and a number that is added, "marked" where one number is put where a mask says, into what has no gradient;
    ``bound`` is when the variables of the index were bound last, where it is spelled with one.
    """

    tensor: Tensor
    form: str
    site: Site
    time: int
    frames: tuple[Frame, ...]
    name: str
    line: cst.CSTNode | None
    guard: Guard
    filled: bool
    made: str
    bound: int = 0


def note(m: Machine, tensor: Tensor, form: str, site: Site) -> None:
    """Remember that ``tensor`` is overwritten."""
    if form in ("step", "renorm") or m.stepping is not None or not m.frames:
        return
    before = m.events.get((tensor.storage,), ())
    inner = m.frames[-1]
    filled = form == "out" or fills(site.expression)
    filled = filled or any(event.filled and event.frames[-1] is inner for event in before)
    name = written_name(site.expression, inner) if form != "out" else ""
    made = "" if filled else _made(m, tensor, inner)
    frames, guard = tuple(m.frames), m.state.guard()
    bound = _index_bound(site.expression, inner)
    event = Event(tensor, form, site, m.tick(), frames, name, inner.line, guard, filled, made, bound)
    m.state.set(m.events, (tensor.storage,), (*before[1 - EVENTS :], event))


def _index_bound(node: cst.CSTNode, frame: Frame) -> int:
    names = (name for part in node.slice for name in mentioned(part)) if isinstance(node, cst.Subscript) else ()
    return max((frame.times.get(name, frame.born) for name in names), default=0)


def shown(m: Machine, array: Array, site: Site) -> None:
    """Remember that a numpy array is overwritten that shows a computed tensor; what was only made is there for that."""
    if array.whole is not None and array.whole.origin == "op":
        note(m, array.whole, "numpy", site)


def _made(m: Machine, tensor: Tensor, frame: Frame) -> str:
    line = frame.line
    if isinstance(line, cst.AugAssign) and isinstance(line.operator, (cst.BitAndAssign, cst.BitOrAssign)):
        return ""  # a mask, which a second time changes nothing
    if line not in m.mentions:
        m.mentions[line] = tuple(computed_with(line)) if line is not None else ()
    others = [_shown(m.see(frame.vars[name])) for name in m.mentions[line] if name in frame.vars]
    own = [other for other in others if _holds(m, other, tensor)]
    strange = any(isinstance(other, Unknown) and not other.scalar for other in others)
    rest = [other for other in others if isinstance(other, Tensor) and other not in own]
    if not strange and own and (not rest or _constant(m, rest, frame)):
        return "converted" if len(own) > _takes_in(line) else "shifted"
    return "marked" if m.grad(tensor) is Grad.NO and _marks(m, frame) else ""


def _constant(m: Machine, values: list[Tensor], frame: Frame) -> bool:
    """Whether tensors were made of numbers, and not given to the function: the mean and the deviation of a dataset."""
    given = [tensor.storage for value in frame.given for tensor in _held(m, value, NONE)]
    return all(value.origin == "blank" and not m.grad(value) and value.storage not in given for value in values)


def _marks(m: Machine, frame: Frame) -> bool:
    """Whether a statement is ``x[mask] = number``, or calls ``masked_fill_``."""
    line = frame.line
    target = line.targets[0].target if isinstance(line, cst.Assign) and len(line.targets) == 1 else None
    if isinstance(line, cst.Assign) and isinstance(target, cst.Subscript):
        index = target.slice[0].slice if len(target.slice) == 1 else None
        mask = index.value if isinstance(index, cst.Index) else None
        values = [m.see(frame.vars[name]) for name in mentioned(line.value) if name in frame.vars]
        picks = isinstance(mask, cst.Comparison) or (
            isinstance(mask, cst.Name) and not is_number(m.see(frame.vars.get(mask.value, NONE)))
        )
        inverted = isinstance(mask, cst.UnaryOperation) and isinstance(mask.operator, cst.BitInvert)
        return (picks or inverted) and all(is_number(value) or isinstance(value, Object) for value in values)
    called = line.value if isinstance(line, (cst.Expr, cst.Assign, cst.Return)) else None
    func = called.func if isinstance(called, cst.Call) else None
    return isinstance(func, cst.Attribute) and func.attr.value == "masked_fill_"


def _holds(m: Machine, value: Value, tensor: Tensor) -> bool:
    """Whether a value is, or may be, a tensor in the memory of another."""
    options = [option for _, option in value.options] if isinstance(value, Choice) else [value]
    return any(isinstance(option, Tensor) and option.storage is tensor.storage for option in options)


def _takes_in(node: cst.CSTNode | None) -> bool:
    """Whether a statement makes its new values of the old ones only where it mentions them a second time."""
    if isinstance(node, cst.Assign):
        return all(isinstance(target.target, cst.Subscript) for target in node.targets)
    if isinstance(node, cst.AugAssign):  # nothing is counted in halves
        adds = isinstance(node.operator, (cst.AddAssign, cst.SubtractAssign))
        return adds and not (isinstance(node.value, cst.Float) and float(node.value.value) % 1)
    called = node.value if isinstance(node, cst.Expr) else None
    names = []
    while isinstance(called, cst.Call) and isinstance(called.func, cst.Attribute):
        names.append(called.func.attr.value)
        called = called.func.value
    return bool(names) and all(name in ("add_", "sub_") for name in names)


def mentioned(node: cst.CSTNode) -> Iterator[str]:
    """The names in a piece of program text."""
    if type(node) is cst.Name:
        yield node.value
    for child in parts(node):
        yield from mentioned(child)


def computed_with(node: cst.CSTNode) -> Iterator[str]:
    """The names in a piece of program text, but for those that only a shape or a dtype is asked of."""
    if type(node) is cst.Attribute and node.attr.value in _DESCRIBING:
        return
    if type(node) is cst.Name:
        yield node.value
    for child in parts(node):
        yield from computed_with(child)


_DESCRIBING = frozenset("shape size dim ndim dtype device layout numel nelement stride requires_grad".split())


def since(m: Machine, tensor: Tensor, time: int) -> list[Event]:
    """The writes to the memory of a tensor after a moment, as far as the present path has seen them.

    What was there before all values were replaced is not asked for any more.
    """
    guard, events = m.state.guard(), m.events.get((tensor.storage,), ())
    found = [event for event in events if event.time > time and compatible(event.guard, guard)]
    filled = [event.time for event in found if event.guard <= guard and fills(event.site.expression)]
    return [event for event in found if event.time >= max(filled)] if filled else found


def fills(node: cst.CSTNode) -> bool:
    """Whether a write replaces all values of a tensor, and not of a part of it, without reading them."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return False
    if node.func.attr.value in INITIALIZING and node.args:
        return not _is_part(node.args[0].value)
    return node.func.attr.value in FILLING and not _is_part(node.func.value)


def _is_part(node: cst.CSTNode) -> bool:
    """Whether an expression is spelled as a part of a tensor."""
    taken = isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _PARTS
    return taken or isinstance(node, cst.Subscript)


_PARTS = frozenset({"narrow", "select"})


def written_name(node: cst.CSTNode, frame: Frame) -> str:
    """The variable that a writing expression is spelled with; empty where it is no plain variable."""
    if isinstance(node, cst.Call):
        if isinstance(node.func, cst.Attribute) and not _is_function(node.func, frame):
            node = node.func.value
        elif node.args and not node.args[0].star:
            node = node.args[0].value
    elif isinstance(node, cst.AugAssign):
        node = node.target
    while isinstance(node, (cst.Subscript, cst.Call)):
        node = node.value if isinstance(node, cst.Subscript) else node.func
        node = node.value if isinstance(node, cst.Attribute) else node
    return node.value if type(node) is cst.Name else ""


def _of_attribute(node: cst.CSTNode) -> bool:
    """Whether a write is spelled with what an instance holds: ``self.h[0] = 0``, ``self.h.add_(1)``."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value.endswith("_"):
        node = node.func.value
    elif isinstance(node, cst.AugAssign):
        node = node.target
    while isinstance(node, cst.Subscript):
        node = node.value
    return isinstance(node, cst.Attribute)


def _is_function(called: cst.Attribute, frame: Frame) -> bool:
    """Whether ``a.b(...)`` is told to write to its argument, as the functions of a module are, not to ``a``."""
    owner = called.value
    while isinstance(owner, cst.Attribute):
        owner = owner.value
    scope = frame if isinstance(owner, cst.Name) else None
    while scope is not None and isinstance(owner, cst.Name) and owner.value not in scope.vars:
        scope = scope.parent
    found = scope.vars[owner.value] if scope is not None and isinstance(owner, cst.Name) else None
    return not called.attr.value.endswith("_") or isinstance(found, Ref)


def names(target: cst.CSTNode) -> frozenset[str]:
    """The variables that an assignment target binds."""
    if isinstance(target, (cst.Tuple, cst.List)):
        return frozenset().union(*(names(element.value) for element in target.elements))
    return frozenset({target.value}) if isinstance(target, cst.Name) else frozenset()


def read_name(m: Machine, name: str, value: Value, frame: Frame) -> None:
    """A variable is read: is what it stands for still what it was bound to?"""
    if not isinstance(value, Tensor):
        return
    for event in since(m, value, frame.times.get(name, frame.born)):
        if frame is event.frames[-1]:
            if event.name and whole(value, event) and not _meant(m, event, name, frame):
                m.refuse("read", event.site)
        elif frame in event.frames and m.frames[-1] is frame:
            if _given(m, value, event):
                m.refuse("argument", event.site)
            elif value.view == "" and name in frame.times and again(m, event, frame.times[name]):
                m.refuse("read", event.site)


def read_part(m: Machine, value: Value, holder: Value | None = None) -> None:
    """A part of something that others hold is read: ``batch["labels"]``, after a function converted or marked it.

    What takes other values in may be meant to be found there: a tile that was blended with the one before. What has a
    name of its own, or stands in a list, may have been made to be marked.
    """
    if m.events and isinstance(value, Tensor) and not m.unread:
        frame = m.frames[-1]
        held = m.stored.get((holder, value.storage), 0)
        made = holder.time if isinstance(holder, List) else 0
        for event in since(m, value, max(frame.born, held, made)):
            converted = event.made == "converted" and (_given(m, value, event) or _has_part(m, value, event))
            meant = event.made == "marked" and isinstance(holder, List)
            changed = value is m.returned.get((event.made, event)) and not meant
            if frame in event.frames[:-1] and (converted or changed):
                m.refuse("argument", event.site)


def read_attribute(m: Machine, instance: Object, name: str, value: Value) -> None:
    """What an instance keeps is read: is it still what was computed when it was kept?

    ``self.features = x`` says nothing of what ``x = relu_(x)`` or others do next. Who filled parts of it where it was
    kept, or has read it and so has a name for it, may mean to change it.
    """
    time = m.stored.get((instance, name), 0)
    if not time or m.unread or not isinstance(value, Tensor):
        return
    keeper, state = m.keepers.get((instance, name)), m.cell(value)
    parameter = state.grad is Grad.YES and state.leaf
    for event in since(m, value, time) if value.origin != "blank" and not parameter else ():
        elsewhere = event.frames[-1] is not keeper or event.form in ("inplace", "augmented")
        if elsewhere and event.name and whole(value, event) and not _of_attribute(event.site.expression):
            m.refuse("read", event.site)
    m.state.set(m.stored, (instance, name), 0)


def _has_part(m: Machine, value: Tensor, event: Event) -> bool:
    """Whether a function was given a part of a tensor, and nobody else has written to that tensor since."""
    given = m.returned.get(event)
    if given is None or value.view or not given.view or given.storage is not value.storage:
        return False
    return all(later.frames[-1] is event.frames[-1] for later in since(m, value, event.time))


def again(m: Machine, event: Event, time: int) -> bool:
    """Whether the function that wrote had written there before ``time`` too: it works in memory that it handed out.

    What is an argument of its own, its caller handed to it.
    """
    frame, storage = event.frames[-1], event.tensor.storage
    given = [tensor.storage for value in frame.given for tensor in _tensors(m, value)]
    return (frame.function is not None and storage not in given) and any(
        before.time <= time and before.site.expression is event.site.expression
        for before in m.events.get((storage,), ())
        if before.frames[-1] is not frame
    )


def _meant(m: Machine, event: Event, name: str, frame: Frame) -> bool:
    """Whether the program writes through the name that it reads, or has no name left for the old value.

    A name that stands for the old tensor on one path and for a copy on another shows that the program knows, and so
    does one that asks whether the two are the same: ``if kept is not written``.
    """
    if event.name != name:
        written = frame.vars.get(event.name)
        if written is None or isinstance(written, Choice):
            return True
        body = m.body(frame.function)[0] if frame.function is not None else None
        if event.name in frame.elements and (body is None or event.form != "augmented" or _lists(body, name)):
            return True
        return body is not None and _tells_apart(body, event.name, name)
    targets = event.line.targets if isinstance(event.line, cst.Assign) else ()
    bound = [target.target.value for target in targets if isinstance(target.target, cst.Name)]
    return event.form != "inplace" or not bound or name in bound


def _lists(node: cst.CSTNode, name: str) -> bool:
    """Whether a text puts a variable into a list, or loops over a tuple with it: it means to reach it there."""
    held: Sequence[cst.CSTNode] = ()
    if isinstance(node, cst.List):
        held = [element.value for element in node.elements]
    elif isinstance(node, cst.For) and isinstance(node.iter, cst.Tuple):
        held = [element.value for element in node.iter.elements]
    elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "append":
        held = [arg.value for arg in node.args]
    found = any(isinstance(part, cst.Name) and part.value == name for part in held)
    return found or any(_lists(child, name) for child in parts(node))


def _tells_apart(node: cst.CSTNode, written: str, read: str) -> bool:
    """Whether a text asks whether two names are one, or makes them one to write: ``out = x if inplace else ...``."""
    if isinstance(node, cst.Attribute) and node.attr.value in _IDENTIFYING and isinstance(node.value, cst.Name):
        return node.value.value in (written, read)
    if isinstance(node, cst.Assign) and isinstance(node.value, cst.IfExp):
        arms = [arm.value for arm in (node.value.body, node.value.orelse) if isinstance(arm, cst.Name)]
        bound = [target.target.value for target in node.targets if isinstance(target.target, cst.Name)]
        if written in bound and read in arms:
            return True
    if isinstance(node, cst.Comparison) and isinstance(node.comparisons[0].operator, (cst.Is, cst.IsNot)):
        sides = (node.left, node.comparisons[0].comparator)
        if {side.value for side in sides if isinstance(side, cst.Name)} == {written, read}:
            return True
    return any(_tells_apart(child, written, read) for child in parts(node))


_IDENTIFYING = frozenset({"_version", "data_ptr", "untyped_storage"})


def whole(value: Tensor, event: Event) -> bool:
    """Whether a tensor is surely, element by element, what was overwritten."""
    both = (value, event.tensor)
    return value is event.tensor or all(tensor.view == "" and tensor.origin not in ("maybe", "cast") for tensor in both)


def _given(m: Machine, value: Tensor, event: Event) -> bool:
    """Whether this is what was given to a function that overwrote it: the same view, or the same whole tensor."""
    given = m.returned.get(event)
    return given is not None and (value is given or value.view == given.view == "")


def operand(m: Machine, value: Value, time: int) -> None:
    """An operand was evaluated at ``time``; another one of the same expression may have overwritten it."""
    if isinstance(value, Tensor):
        for event in since(m, value, time):
            if whole(value, event):
                m.refuse("read", event.site)


def stored(m: Machine, container: List | Dict, value: Value) -> None:
    """A container takes a value.

    A parameter is put there to be found, not to be kept as it is now, and so is memory that nothing was written to yet.
    """
    value = _shown(m.see(value))
    for item in value.items if isinstance(value, Tuple) and isinstance(container, List) else ():
        stored(m, container, item)
    if not isinstance(value, Tensor) or (value.origin == "blank" and (value.storage,) not in m.events):
        return
    state = m.cell(value)
    if state.grad is Grad.YES and state.leaf:
        return
    before = m.stored.get((container, value.storage))
    if not before or isinstance(container, Dict) or not since(m, value, before):
        m.state.set(m.stored, (container, value.storage), m.tick())


def appended(m: Machine, container: List, value: Value) -> None:
    """A list takes a tensor, or a record of some, once more: both elements show what was written since."""
    for key, item in _entries(m, _shown(m.see(value))).items():
        part = _shown(m.see(item))
        time = m.stored.get((container, part.storage)) if isinstance(part, Tensor) else None
        if isinstance(part, Tensor) and time:
            events = [event for event in since(m, part, time) if whole(part, event)]
            others = (_entries(m, m.see(other)) for other in m.state.get(container).items) if events else ()
            if any(other.get(key) is part for other in others):
                for event in events:
                    m.refuse("read", event.site)
        stored(m, container, part)


def _entries(m: Machine, value: Value, place: tuple[Hashable, ...] = ()) -> dict[tuple[Hashable, ...], Value]:
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


def passed_on(m: Machine, source: Value, container: List | Dict, values: Iterable[Value]) -> None:
    """A container takes over what another one holds, as it was when that one took it."""
    source = m.see(source)
    for value in map(m.see, values) if m.stored else ():
        if isinstance(value, Tensor) and (time := m.stored.get((source, value.storage))):
            m.state.set(m.stored, (container, value.storage), time)


def named(m: Machine, container: Dict, key: Hashable, value: Value) -> None:
    """A dictionary is given a value under a second key: if a part was overwritten before, under the first one too."""
    value = m.see(value)
    if not isinstance(value, Tensor) or not m.events or not m.frames:
        return
    held = m.state.get(container).items
    others = [m.see(item) for name, item in held.items() if name != key]
    if value in others:
        for event in since(m, value, max(m.frames[-1].born, m.stored.get((container, value.storage), 0))):
            if event.form == "subscript" and whole(value, event):
                m.refuse("read", event.site)


def taken(m: Machine, container: List | Dict, value: Value, known: bool = True) -> None:
    """An element of a container is read; who has a name for it, may from now on overwrite it on purpose."""
    value = _shown(value)
    if isinstance(value, Tuple) and m.stored:
        for item in map(m.see, value.items):
            taken(m, container, item, known)
        return
    read_part(m, value, container)
    options = [_shown(option) for _, option in value.options] if isinstance(value, Choice) else [value]
    for option in options if m.stored else ():
        if not isinstance(option, Tensor):
            continue
        time = m.stored.get((container, option.storage), 0)
        for event in since(m, option, time) if option is value else ():
            if time and _given(m, option, event):
                m.refuse("argument", event.site)
            elif known and time and (_same_part(option, event, time) or _as_it_was(m, option, event, time)):
                m.refuse("read", event.site)
        if time and known:
            m.state.set(m.stored, (container, option.storage), 0)


def _as_it_was(m: Machine, value: Tensor, event: Event, time: int) -> bool:
    """Whether a whole tensor that was kept at ``time`` was kept to stay as it was."""
    return value.origin in ("op", "blank") and whole(value, event) and _unaware(m, event, time)


def _same_part(value: Tensor, event: Event, time: int) -> bool:
    """Whether a part that was kept at ``time`` is what was overwritten: both are spelled alike, with the same index.

    So it is where a function that was called afterwards says ``x *= 2`` of the whole tensor.
    """
    if value.spelled is None:
        return False
    if event.form == "augmented" and event.tensor.view == "" and event.frames[-1].born > time:
        return bool(event.name)
    if event.bound > time or event.frames[-1].born > time:
        return False
    return event.form == "subscript" and value.spelled.deep_equals(event.site.expression)


def dropped(m: Machine, container: List | Dict, value: Value) -> None:
    """An element leaves a container."""
    value = _shown(m.see(value))
    if isinstance(value, Tensor) and (container, value.storage) in m.stored:
        m.state.set(m.stored, (container, value.storage), 0)


def rebound(m: Machine, value: Value, time: int) -> None:
    """A variable is given, under a condition, the very tensor that it stands for since ``time``.

    Where a function overwrote it and handed it back, there is no old value left to stay with: ``if better: x = y``.
    """
    if not isinstance(value, Tensor):
        return
    guard = m.state.guard()
    for event in since(m, value, time):
        if _given(m, value, event) and event.guard < guard:
            m.refuse("argument", event.site)


def outlived(m: Machine, source: Value, begin: int) -> None:
    """What a loop over a generator has kept since ``begin``, it kept before the generator went on to overwrite it."""
    for time, frame, value in m.handed.get(source, ()) if m.handed and isinstance(source, List) else ():
        for tensor in _tensors(m, _shown(m.see(value))):
            if any(frame in event.frames for event in since(m, tensor, time)):
                for key, moment in list(m.stored.items()):
                    if key[1] is tensor.storage and moment > begin and not isinstance(key[0], str):
                        m.state.set(m.stored, key, time)


def _shown(value: Value) -> Value:
    """The tensor whose values a numpy array shows; anything else as it is."""
    return value.whole if isinstance(value, Array) and value.whole is not None else value


def _unaware(m: Machine, event: Event, time: int) -> bool:
    """Whether who wrote did not mean the element of the container: it has filled parts of it where it put it there."""
    if event.form == "subscript" and event.frames[-1] is m.frames[-1]:
        return False
    return bool(event.name) or again(m, event, time)


def says_in_place(name: str) -> bool:
    """Whether a function is named after what it does to its argument."""
    return (name.endswith("_") and not name.endswith("__")) or "inplace" in name or "in_place" in name


def handed_back(m: Machine, args: Sequence[Value], result: Value, born: int) -> None:
    """A function returns something that its caller uses.

    A tensor that it overwrote and returns has two names, where the caller gives it a new one. One that it converted,
    to return something else, is no more what the caller knew.
    """
    if not m.events:
        return
    results = _tensors(m, result)
    answers = bool(results) or isinstance(m.see(result), (Object, Dict, List, Unknown, Array))
    given = {tensor.storage: tensor for arg in args for tensor in _held(m, arg, m.see(result))}
    returned = {tensor.storage for tensor in results}
    for storage, tensor in given.items() if answers else ():
        events = since(m, tensor, born)
        if tensor.view:
            events = [event for event in events if event.tensor is tensor]
        if tensor.origin != "cast":  # a cast of the function's own may have copied
            events = [event for event in events if event.tensor.origin != "cast"]
        made, back = {event.made for event in events}, storage in returned
        converted = "converted" in made <= {"converted", "shifted"}
        for event in events:
            if (back or converted) and not event.filled:
                m.state.set(m.returned, event, tensor)
            if converted or (made == {"marked"} and not back):
                m.state.set(m.returned, (event.made, event), tensor)


def peeked(m: Machine, args: Sequence[Value], born: int) -> None:
    """A function that is called as a statement may be meant to change its argument, but not by a name for its values.

    Who writes to ``values = x.detach()`` takes that for a copy; parameters are changed so on purpose.
    """
    for tensor in [found for arg in args for found in _tensors(m, arg)] if m.events else ():
        state = m.cell(tensor)
        for event in since(m, tensor, born) if state.node is not None or not state.grad else ():
            by, inner = event.tensor, event.frames[-1]
            named = bool(event.name) and m.see(inner.vars.get(event.name, NONE)) is by
            if named and by.time > born and by.cell is not tensor.cell and by.view == tensor.view and event.made:
                m.state.set(m.returned, event, tensor)


def _held(m: Machine, value: Value, result: Value, depth: int = PLACES) -> list[Tensor]:
    """The tensors that a caller gave, also in lists and dictionaries, but for one that it is given back."""
    value = m.see(value)
    if isinstance(value, (List, Dict)):
        if value is result or depth == 0:
            return []
        items = m.state.get(value).items
        inside = list(items.values() if isinstance(value, Dict) else items)[:ENTRIES]
        return [found for item in inside for found in _held(m, item, result, depth - 1)]
    return _tensors(m, value)


def announced(m: Machine, args: Iterable[Value], begin: int) -> None:
    """The caller knows that what it called since ``begin`` overwrites these arguments."""
    for tensor in [found for arg in args for found in _tensors(m, arg)] if m.events else ():
        for event in since(m, tensor, begin):
            for key in (event, ("converted", event), ("marked", event)):
                m.state.set(m.returned, key, None)


def _tensors(m: Machine, value: Value) -> list[Tensor]:
    value = m.see(value)
    if isinstance(value, Choice):
        return [found for _, option in value.options for found in _tensors(m, option)]
    items: Any = value.items if isinstance(value, Tuple) else (value,)
    return [item for item in map(m.see, items) if isinstance(item, Tensor)]


def rescale(m: Machine, tensor: Tensor, site: Site) -> None:
    """A result of the graph is multiplied through ``.data``: its gradient does not know of the factor.

    Other writes through ``.data``, such as rounding, may mean just that.
    """
    hidden, base = tensor.storage.hidden, tensor.cell.base
    if hidden is None or base is None or not m.frames:
        return
    state, line, node = m.state.get(base), m.frames[-1].line, site.expression
    if isinstance(node, cst.AugAssign):
        scales = isinstance(node.operator, (cst.MultiplyAssign, cst.DivideAssign))
    elif isinstance(node, cst.Call):
        scales = isinstance(node.func, cst.Attribute) and node.func.attr.value in ("mul_", "div_")
    else:
        value = line.value if isinstance(line, cst.Assign) else None
        scales = isinstance(value, cst.BinaryOperation) and isinstance(value.operator, (cst.Multiply, cst.Divide))
    if scales and state.grad is Grad.YES and state.node is not None:
        m.state.set(m.rescaled, (hidden,), site)


def cut_off(m: Machine, tensor: Tensor, sources: list[Tensor], site: Site) -> None:
    """A gradient that was made with ``create_graph=True`` is written through ``.data``, where its graph is lost."""
    hidden, base = tensor.storage.hidden, tensor.cell.base
    if hidden is None or base is None or m.state.get(base).node is None:
        return
    if any(node.op == "grad" for node in graph(*m.history(*sources))):
        m.state.set(m.rescaled, (hidden,), site)


def differentiated(m: Machine, tensor: Tensor) -> None:
    """Autograd records an operator of ``tensor``."""
    site = m.rescaled.get((tensor.storage,))
    if site is not None and m.grad(tensor) is Grad.YES:
        m.refuse("rescaled", site)
    if tensor.view == "views" and m.grad(tensor) is Grad.YES:
        for event in since(m, tensor, tensor.time):
            if event.tensor.view != "views":
                m.refuse("base", event.site)


def optional(refusal: Refusal) -> bool:
    """Whether a silent write hangs on an option that is called in-place: who switches that on means it."""
    site = refusal.write
    if refusal.kind not in ("argument", "saved", "grad_output", "ctx"):
        return False
    return _asks(site.expression) or _within(site.piece.read(), site.expression, asked=False)


def _within(node: cst.CSTNode, wanted: cst.CSTNode, asked: bool) -> bool:
    if node is wanted:
        return asked
    asked = asked or (isinstance(node, (cst.If, cst.IfExp)) and _says_inplace(node.test))
    return any(_within(part, wanted, asked) for part in parts(node))


def _asks(node: cst.CSTNode) -> bool:
    return (isinstance(node, cst.IfExp) and _says_inplace(node.test)) or any(map(_asks, parts(node)))


def _says_inplace(node: cst.CSTNode) -> bool:
    return any("inplace" in name for name in mentioned(node))
