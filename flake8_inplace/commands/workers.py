"""Processes that work on the files of a run. Ctrl-C ends them, whatever they do."""

from __future__ import annotations

import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, TypeVar

SEVERAL = 8
"""Below this many files, starting processes costs more than it gains."""
PATIENCE = 0.1
"""How long, in seconds, Ctrl-C waits at most to be noticed."""
AHEAD = 32
"""How many tasks a process has waiting. Ctrl-C is not noticed while tasks are handed over."""

Task = TypeVar("Task")
Result = TypeVar("Result")


def each(
    work: Callable[[Task], Result],
    tasks: Iterable[Task],
    total: int,
    jobs: int,
    lost: Callable[[Task], Result],
    start: Callable[..., None],
    given: tuple[Any, ...] = (),
) -> Iterator[tuple[Task, Result]]:
    """Yield each task with its result, in order. ``lost`` makes that of a task whose process died.

    ``start(*given)`` prepares a process. There are ``total`` tasks at most. They hold the texts of files, so each is
    asked for when it is needed. Raises KeyboardInterrupt after Ctrl-C; what is left is not done.
    """
    left = iter(tasks)
    if jobs == 1 or total < SEVERAL:
        yield from ((task, work(task)) for task in left)
        return
    handed: deque[tuple[Task, Future[Result]]] = deque()
    with _noted_interrupts() as interrupted:
        try:
            yield from _pooled(work, left, handed, min(jobs, total), start, given, interrupted)
        except BrokenProcessPool:  # a process for each of the rest shows which one it was
            for task in chain([task for task, _ in handed], left):
                try:
                    yield from _pooled(work, iter([task]), deque(), 1, start, given, interrupted)
                except BrokenProcessPool:
                    yield task, lost(task)


def _pooled(
    work: Callable[[Task], Result],
    left: Iterator[Task],
    handed: deque[tuple[Task, Future[Result]]],
    jobs: int,
    start: Callable[..., None],
    given: tuple[Any, ...],
    interrupted: Callable[[], bool],
) -> Iterator[tuple[Task, Result]]:
    """Have processes do what is left. ``handed`` holds the tasks that were handed over and have no result yet."""
    pool = ProcessPoolExecutor(jobs, initializer=_begin, initargs=(start, given))
    finished = False
    try:
        handed += _submitted(pool, work, islice(left, jobs * AHEAD))
        while handed:
            task, future = handed[0]
            _await(future, interrupted)
            result = future.result()
            handed.popleft()
            yield task, result
            handed += _submitted(pool, work, islice(left, 1))
        finished = True
    finally:
        if finished:
            pool.shutdown()
        else:
            for process in list((pool._processes or {}).values()):
                process.kill()
            pool.shutdown(wait=False, cancel_futures=True)


def _submitted(
    pool: ProcessPoolExecutor, work: Callable[[Task], Result], tasks: Iterable[Task]
) -> list[tuple[Task, Future[Result]]]:
    """Hand over tasks. This may start processes; they inherit that Ctrl-C is for this process to answer."""
    with _no_interrupts():
        return [(task, pool.submit(work, task)) for task in tasks]


def _begin(start: Callable[..., None], given: tuple[Any, ...]) -> None:
    """Prepare a process: Ctrl-C is not for it to answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    start(*given)


def _await(future: Future[Any], interrupted: Callable[[], bool]) -> None:
    while not wait([future], PATIENCE).done:
        if interrupted():
            break
    if interrupted():
        raise KeyboardInterrupt


@contextmanager
def _noted_interrupts() -> Iterator[Callable[[], bool]]:
    """Note Ctrl-C instead of raising an exception wherever the pool may be, which can leave it waiting for ever."""
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        yield lambda: bool(seen)
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Keep Ctrl-C for later, where the system can."""
    mask = getattr(signal, "pthread_sigmask", None)
    if mask is None:
        yield
        return
    before = mask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        mask(signal.SIG_SETMASK, before)


def progress(results: Iterable[Result], total: int) -> Iterator[Result]:
    """Yield the same results. A run of more than two seconds counts them on a terminal."""
    begin, shown = time.monotonic(), False
    try:
        for number, result in enumerate(results, 1):
            yield result
            if sys.stderr.isatty() and time.monotonic() - begin > 2:
                shown = True
                print(f"\r{number}/{total} files", end="", file=sys.stderr, flush=True)
    finally:
        if shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
