"""Values that are read after they were overwritten, which no version counter notices.

A write is remembered with the moment it happened at. A name that was bound, or an element that was stored, before that
moment, and that stands for the same whole tensor, is stale from then on, unless the program means it to follow the
write: that is asked of the text, see `_meant`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import libcst as cst

from .domain import Choice, Dict, Guard, List, Ref, Tensor, Tuple, Value, compatible
from .machine import Frame, Machine, Site

METADATA = frozenset(
    "shape size dim ndim dtype device layout numel nelement stride is_contiguous is_floating_point requires_grad grad "
    "grad_fn is_leaf new_zeros new_ones new_empty new_full new_tensor data_ptr type element_size is_cuda names "
    "append extend insert clear requires_grad_ register_hook retain_grad data detach_ zero_ fill_ copy_ resize_ "
    "normal_ uniform_ bernoulli_ backward _version".split()
)
"""What reads no values of a tensor or elements of a list, or overwrites them whole."""
FILLING = frozenset("zero_ fill_ copy_ normal_ uniform_ bernoulli_ exponential_ random_ set_".split())
"""In-place methods that replace all values without reading them."""
EVENTS = 8
"""The most writes to one memory that are remembered."""
QUIET = frozenset({"len", "isinstance", "type", "id", "hasattr", "print"})
"""Builtins that do not compute with what they are given."""


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """A tensor was overwritten in place.

    ``name`` is the variable of ``frames[-1]`` that the write was spelled with, if it was one; ``line`` the statement;
    ``filled`` says that the function replaced all values first, as it does with an argument that is its output.
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


def note(m: Machine, tensor: Tensor, form: str, site: Site) -> None:
    """Remember that ``tensor`` is overwritten."""
    if form in ("step", "renorm", "out") or m.stepping is not None or not m.frames:
        return
    before = m.events.get((tensor.storage,), ())
    inner = m.frames[-1]
    filled = fills(site.expression) or any(event.filled and event.frames[-1] is inner for event in before)
    name = written_name(site.expression, inner)
    event = Event(tensor, form, site, m.tick(), tuple(m.frames), name, inner.line, m.state.guard(), filled)
    m.state.set(m.events, (tensor.storage,), (*before[1 - EVENTS :], event))


def since(m: Machine, tensor: Tensor, time: int) -> list[Event]:
    """The writes to the memory of a tensor after a moment, as far as the present path has seen them."""
    guard = m.state.guard()
    found = m.events.get((tensor.storage,), ())
    return [event for event in found if event.time > time and compatible(event.guard, guard)]


def fills(node: cst.CSTNode) -> bool:
    """Whether a write replaces all values without reading them."""
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in FILLING


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
    return node.value if isinstance(node, cst.Name) else ""


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
            if event.name and whole(value, event) and not _meant(event, name, frame):
                m.refuse("read", event.site)
        elif frame in event.frames and event in m.returned and value.view == "":
            m.refuse("argument", event.site)


def _meant(event: Event, name: str, frame: Frame) -> bool:
    """Whether the program writes through the name that it reads, or has no name left for the old value."""
    if event.name != name:
        return event.name not in frame.vars or event.name in frame.elements
    targets = event.line.targets if isinstance(event.line, cst.Assign) else ()
    bound = [target.target.value for target in targets if isinstance(target.target, cst.Name)]
    return event.form != "inplace" or not bound or name in bound


def whole(value: Tensor, event: Event) -> bool:
    """Whether a tensor is surely, element by element, what was overwritten."""
    both = (value, event.tensor)
    return value is event.tensor or all(tensor.view == "" and tensor.origin != "maybe" for tensor in both)


def operand(m: Machine, value: Value, time: int) -> None:
    """An operand was evaluated at ``time``; another one of the same expression may have overwritten it."""
    if isinstance(value, Tensor):
        for event in since(m, value, time):
            if whole(value, event):
                m.refuse("read", event.site)


def stored(m: Machine, container: List | Dict, value: Value) -> None:
    """A container takes a value."""
    value = m.see(value)
    if isinstance(value, Tensor):
        m.state.set(m.stored, (container, value.storage), m.tick())


def taken(m: Machine, container: List | Dict, value: Value) -> None:
    """An element of a container is read, and from now on may be overwritten on purpose."""
    options = [option for _, option in value.options] if isinstance(value, Choice) else [value]
    for option in options if m.stored else ():
        time = m.stored.get((container, option.storage)) if isinstance(option, Tensor) else 0
        if time and isinstance(option, Tensor):
            for event in since(m, option, time):
                if event.name and option is value and option.origin == "op" and whole(option, event):
                    m.refuse("read", event.site)
            m.state.set(m.stored, (container, option.storage), 0)


def handed_back(m: Machine, result: Value, born: int, name: str, line: cst.CSTNode | None) -> None:
    """A function returns; a tensor that it overwrote and returns has two names, where the caller gives it a new one."""
    if not m.events or name.endswith("_") or "inplace" in name or "in_place" in name or isinstance(line, cst.Expr):
        return
    for tensor in _tensors(m, result):
        for event in since(m, tensor, born):
            if not event.filled:
                m.state.set(m.returned, event, True)


def _tensors(m: Machine, value: Value) -> list[Tensor]:
    value = m.see(value)
    if isinstance(value, Choice):
        return [found for _, option in value.options for found in _tensors(m, option)]
    items: Any = value.items if isinstance(value, Tuple) else (value,)
    return [item for item in map(m.see, items) if isinstance(item, Tensor)]
