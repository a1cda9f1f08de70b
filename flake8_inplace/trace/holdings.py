"""What a value contains: tensors, submodules and unknown parts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from ..heap.values import ITEMS, Array, Choice, Dict, Grad, List, Object, Tensor, Tuple, Unknown, Value
from .trace import Trace


def reach(m: Trace, value: Value) -> Grad:
    """Return whether any tensor in a value requires grad: the maximum of no, maybe and yes."""
    value = m.see(value)
    if type(value) not in _SEVERAL:  # the usual case
        return m.grad(value)
    return max((m.grad(item) for item in _parts(m, value)), default=Grad.NO)


_SEVERAL = frozenset({Tuple, List, Choice})


def _parts(m: Trace, value: Value) -> Iterator[Value]:
    """Yield a value, or the elements of a sequence, in order. Each sequence is visited once: it may contain itself."""
    value = m.see(value)
    if not isinstance(value, (Tuple, List, Choice)):
        yield value
        return
    todo: list[Value] = [value]
    seen: dict[int, Value] = {}
    while todo:
        item = m.see(todo.pop())
        if isinstance(item, Choice):
            todo += [option for _, option in reversed(item.options)]
        elif not isinstance(item, (Tuple, List)):
            yield item
        elif id(item) not in seen:
            seen[id(item)] = item
            todo += reversed(item.items if isinstance(item, Tuple) else m.state.get(item).items)


def unknowns(m: Trace, value: Value) -> list[Unknown]:
    """Return the unknown values among a value and its elements."""
    value = m.see(value)
    if isinstance(value, Unknown):
        return [value]
    items = m.state.get(value).items if isinstance(value, List) else value.items if isinstance(value, Tuple) else ()
    return [found for item in items if isinstance(found := m.see(item), Unknown)]


def tensors_in(m: Trace, value: Value) -> Iterator[Tensor]:
    """Yield the tensors among a value and its elements."""
    return (item for item in _parts(m, value) if isinstance(item, Tensor))


def parameters(m: Trace, value: Value) -> list[Tensor]:
    """Return the tensors of a module and its submodules that require grad."""
    return [tensor for tensor in held(m, value, set()) if m.grad(tensor)]


def held(m: Trace, value: Value, seen: set[int]) -> list[Tensor]:
    """Return every tensor that is reachable from a value."""
    return [tensor for _, tensor in named(m, value, "", seen)]


def named(m: Trace, value: Value, prefix: str = "", seen: set[int] | None = None) -> list[tuple[str, Tensor]]:
    """Return the tensors of a module and its submodules, with their dotted names."""
    value = m.see(value)
    seen = set() if seen is None else seen
    if id(value) in seen:
        return []
    seen.add(id(value))
    if isinstance(value, Array):
        value = value.tensor
    if isinstance(value, Tensor):
        return [(prefix, value)]
    inside: list[tuple[Hashable, Value]] = []
    if isinstance(value, Choice):
        inside = [(prefix, option) for _, option in value.options]
        return [found for name, item in inside for found in named(m, item, prefix, seen)]
    if isinstance(value, (Tuple, List)):
        inside = list(enumerate(value.items if isinstance(value, Tuple) else m.state.get(value).items))
    elif isinstance(value, (Object, Dict)):
        inside = list(m.state.get(value).items.items())
    dot = f"{prefix}." if prefix else ""
    return [
        found for name, item in inside for found in named(m, item, prefix if name == ITEMS else f"{dot}{name}", seen)
    ]


def named_modules(
    m: Trace, value: Value, prefix: str = "", seen: dict[int, Value] | None = None
) -> list[tuple[str, Object]]:
    """Return a module and all its submodules, with their dotted names."""
    value = m.see(value)
    seen = {} if seen is None else seen
    if id(value) in seen or not isinstance(value, (Tuple, List, Dict, Object)):
        return []
    seen[id(value)] = value
    inside: list[tuple[Hashable, Value]]
    if isinstance(value, (Tuple, List)):
        inside = list(enumerate(value.items if isinstance(value, Tuple) else m.state.get(value).items))
    else:
        inside = list(m.state.get(value).items.items())
    found = [(prefix, value)] if isinstance(value, Object) else []
    dot = f"{prefix}." if prefix else ""
    for name, item in inside:
        found += named_modules(m, item, prefix if name == ITEMS else f"{dot}{name}", seen)
    return found


def submodules(m: Trace, value: Value) -> list[Object]:
    """Return a module and all its submodules."""
    return [module for _, module in named_modules(m, value)]


def named_children(m: Trace, module: Object) -> list[tuple[str, Object]]:
    """Return the direct children of a module, with their names."""
    found: dict[Object, str] = {}
    for name, value in m.state.get(module).items.items():
        value = m.see(value)
        inside: Iterable[tuple[Hashable, Value]] = [(name, value)]
        if isinstance(value, Dict):
            inside = m.state.get(value).items.items()
        elif isinstance(value, List):
            inside = enumerate(m.state.get(value).items)
        for key, item in inside:
            if isinstance(item, Object):
                found.setdefault(item, str(key))
    return [(name, child) for child, name in found.items()]


def is_own(m: Trace, tensor: Tensor) -> bool:
    """Return whether an object that a running method belongs to has a tensor, or its memory."""
    receivers = [frame.given[0] for frame in m.stack.frames if frame.owner is not None and frame.given]
    seen: set[int] = set()
    return any(part.storage is tensor.storage for receiver in receivers for part in held(m, receiver, seen))


def depth_of(m: Trace, tensor: Tensor) -> int:
    """Return how many calls lead to the function that a written tensor comes from.

    A function that was given the tensor as an argument has it from its caller; one that takes it out of a module or
    another object has not.
    """
    stack = m.stack
    depth = len(stack.calls)
    for frame in reversed(stack.frames[len(stack.frames) - depth :]):
        if not any(part.storage is tensor.storage for value in frame.given for part in tensors_in(m, value)):
            break
        depth -= 1
    return depth
