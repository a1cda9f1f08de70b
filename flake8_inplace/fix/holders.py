"""Who can reach the memory that is written, at the moment of the write: variables, callers, objects, unknown code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from functools import cache

from ..heap.regions import Relation, base_of, relation
from ..heap.values import Array, Choice, Dict, List, Object, Storage, Tensor, Tuple, Value, View
from ..torchfacts import ops as facts
from ..trace.callables import Bound, Method, Partial
from ..trace.frames import Class, Frame, Function
from ..trace.trace import Trace

_UNSAID = frozenset({"einsum", "cuda"})
"""Operators that may return their very input, without a condition in the facts: of one operand, or on its device."""


@cache
def may_return_input(name: str) -> bool:
    """Return whether an operator may return its very input, as dropout does in evaluation."""
    known = (*facts.lookup(f"torch.{name}"), *facts.lookup(f"torch.nn.functional.{name}"))
    return name in _UNSAID or any(op.identity for op in known)


def is_computed(m: Trace, tensor: Tensor) -> bool:
    """Return whether an operator surely made the memory of a tensor, and no function on the stack was given it."""
    made = tensor.storage.memory
    surely = bool(made.op) and not may_return_input(made.op)
    return surely and not _reaches(m, (value for frame in m.stack.frames for value in frame.given), tensor)


def is_beside(m: Trace, tensor: Tensor, containers: Iterable[Value]) -> bool:
    """Return whether anybody reaches the memory of a tensor without some containers, or twice in one of them."""
    if any(sum(_reaches(m, (item,), tensor) for item in _inside(m, each)) > 1 for each in containers):
        return True
    variables = (value for frame in m.stack.frames for value in frame.vars.values())
    # a list that is being made has no name yet
    others = (thing for thing in m.state.store if isinstance(thing, (List, Dict)))
    return _reaches(m, (*variables, *_roots(m, m.stack.frames[-1]), *others), tensor, set(map(id, containers)))


def is_own(m: Trace, container: Value) -> bool:
    """Return whether only the variables of the running function lead to a container, and it was not given it."""
    frame = m.stack.frames[-1]
    return not any(value is container for value in _reachable(m, (*frame.given, *_roots(m, frame))))


def is_shared(m: Trace, tensor: Tensor, handed: Set[Storage]) -> bool:
    """Return whether anybody but the variables of the running function can reach the memory of a tensor."""
    frame = m.stack.frames[-1]
    return tensor.storage.memory in handed or _reaches(m, _roots(m, frame), tensor)


def names_of(m: Trace, tensor: Tensor, frame: Frame) -> set[str]:
    """Return the variables of a function that lead to the memory of a tensor."""
    return {name for name, value in frame.vars.items() if _reaches(m, (value,), tensor)}


def apart(m: Trace, one: Tensor, other: Tensor) -> bool:
    """Return whether two views of one memory certainly have no element in common."""
    first, second = one.region, other.region
    if first is None or second is None or first.reshaped or second.reshaped or first.base is not second.base:
        return False
    if relation(first.index, second.index, m.symbols)[0] is Relation.DISJOINT:
        return True
    parts = one.view is other.view is View.MULTI_OUTPUT  # of one division, which is where the clock stood
    return parts and first.time == second.time and first.index != second.index


def _roots(m: Trace, frame: Frame) -> Iterator[Value]:
    """Yield what the present path can reach without the variables of a function."""
    for other in m.stack.frames:
        yield from (way.value for way in other.exits if m.state.possible(way.guard))
        for outer in _chain(other):
            if outer is not frame:
                yield from outer.vars.values()
    yield from (value for key, value in m.state.store.items() if isinstance(key, tuple))


def _chain(frame: Frame | None) -> Iterator[Frame]:
    while frame is not None:
        yield frame
        frame = frame.parent


def _reaches(m: Trace, values: Iterable[Value], tensor: Tensor, without: Set[int] = frozenset()) -> bool:
    """Whether values lead to the memory of a tensor, other than through what has one of some identities."""
    return any(
        isinstance(value, Tensor) and value.storage.memory is tensor.storage.memory and not apart(m, value, tensor)
        for value in _reachable(m, values, without)
    )


def _reachable(m: Trace, values: Iterable[Value], without: Set[int] = frozenset()) -> Iterator[Value]:
    """Yield values and all that they lead to."""
    todo, seen = list(values), set(without)
    while todo:
        value = m.see(todo.pop())
        yield value
        if id(value) not in seen:
            seen.add(id(value))
            todo += _inside(m, value)


def _inside(m: Trace, value: Value) -> Iterable[Value]:
    match value:
        case Tensor():
            base = base_of(value)
            return base.made.values if base.made is not None and may_return_input(base.storage.memory.op) else ()
        case Array():
            return (value.tensor,)
        case Choice():
            return [option for guard, option in value.options if m.state.possible(guard)]
        case Tuple():
            return value.items
        case List():
            return m.state.get(value).items
        case Dict() | Object():
            return m.state.get(value).items.values()
        case Bound() | Method():
            return (value.receiver,)
        case Partial():
            return (value.function, *value.args, *value.kwargs.values())
        case Class():
            return value.members.values()
        case Function():
            around = (frame for frame in _chain(value.frame) if frame not in m.stack.frames)
            return [*value.defaults.values(), *(held for frame in around for held in frame.vars.values())]
    return ()
