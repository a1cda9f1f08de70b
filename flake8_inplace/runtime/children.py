"""Work that may kill its process, done in children: whatever dies of one piece leaves the others' results alone."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import TypeVar

T = TypeVar("T")
GROUP = 64
"""The most pieces that one child works on."""


def in_children(
    pieces: Sequence[str], work: Callable[[Sequence[str]], list[T]], died: Callable[[str, str], T]
) -> Iterator[T]:
    """Yield what ``work`` finds out about groups of pieces. What it returns has to be picklable.

    A group that a child dies of is halved, until the pieces that do it are known: ``died`` gets each of them and says
    what stands for it, with the reason. Children are forked, so they share what is imported.
    """
    todo = [pieces[at : at + GROUP] for at in range(0, len(pieces), GROUP)][::-1]
    while todo:
        group = todo.pop()
        found, reason = _in_child(group, work)
        if found is not None:
            yield from found
        elif len(group) == 1:
            yield died(group[0], reason)
        else:
            middle = len(group) // 2
            todo += [group[middle:], group[:middle]]


def _in_child(group: Sequence[str], work: Callable[[Sequence[str]], list[T]]) -> tuple[list[T] | None, str]:
    """What a child of this process finds; None and why, if it dies."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(there, group, work))
    child.start()
    there.close()
    try:
        found: list[T] | None = here.recv()
    except EOFError:
        found = None
    child.join()
    code = child.exitcode or 0
    return found, f"the process died of {signal.Signals(-code).name}" if code < 0 else f"the process ended with {code}"


def _send(there: Connection, group: Sequence[str], work: Callable[[Sequence[str]], list[T]]) -> None:
    there.send(work(group))
    there.close()
