"""The autograd graph: which nodes a backward pass visits, and under which guards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..program.sealed import sealed
from ..program.site import Site
from .values import ALWAYS, Guard, Node, Unknown

ROUTES = 4
"""The most paths to one graph node that are tracked separately, and the most extra assumptions of one path."""


@sealed(frozen=True, slots=True, eq=False)
class Write:
    """An in-place write to a storage: its form ("op_", "inplace", "augmented", ...), place, guard and call stack.

    ``module`` is the call that made the nn.Module which writes, if one does. ``part``: an augmented
    assignment to a part of a tensor. ``time``: when.
    """

    form: str
    place: Site
    guard: Guard
    calls: tuple[Site, ...] = ()
    module: Site | None = None
    part: bool = False
    time: int = 0


def graph(*nodes: Node | None) -> Iterator[Node]:
    """Yield every node that a backward from these nodes visits, each once."""
    seen: set[int] = set()
    todo = [n for n in nodes if n is not None]
    while todo:
        node = todo.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            todo.extend(node.parents)


def routes(sources: Iterable[tuple[Node, Guard]], start: Guard) -> Iterator[tuple[Node, Guard]]:
    """Yield every node that a backward from these nodes visits, each with the guards under which it does."""
    todo = [(node, start | guard) for node, guard in sources]
    most = max((len(guard) for _, guard in todo), default=0) + ROUTES
    seen: dict[Node, list[Guard]] = {}
    while todo:
        node, guard = todo.pop()
        if node.guard and len(guard) < most:
            if not compatible(node.guard, guard):
                continue
            guard |= node.guard
        before = seen.setdefault(node, [])
        if len(before) >= ROUTES:  # too many paths: continue under what they have in common
            guard = guard.intersection(*before)
        if not any(other <= guard for other in before):
            before.append(guard)
            yield node, guard
            todo.extend((parent, guard) for parent in node.parents)


def phi(nodes: Iterable[Node | None]) -> Node | None:
    """Join the histories of a value that was computed on several paths."""
    unique = list(dict.fromkeys(n for n in nodes if n is not None))
    if len(unique) < 2:
        return unique[0] if unique else None
    return Node("phi", (), tuple(unique), leaves=())


def perhaps(nodes: Iterable[Node | None], guard: Guard = ALWAYS) -> Node | None:
    """Join the histories of a value that has none on some paths, or of which not all are surely its own."""
    found = tuple(dict.fromkeys(n for n in nodes if n is not None))
    return Node("phi", (), found, guard, ()) if found else None


def compatible(*guards: Guard) -> bool:
    """Return whether one run of the program can satisfy all these guards."""
    seen: dict[Unknown, bool] = {}
    for guard in guards:
        for symbol, truth in guard:
            if seen.setdefault(symbol, truth) is not truth:
                return False
    return True


def otherwise(guard: Guard, here: Guard) -> Guard:
    """Return what holds on the other paths from ``here`` than those of ``guard``, if one assumption says it."""
    missing = guard - here
    return frozenset({(symbol, not truth) for symbol, truth in missing}) if len(missing) == 1 else ALWAYS
