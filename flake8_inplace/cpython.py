"""What the analysis asks of CPython, to save time: when it collects garbage, and how much room it has for frames."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import ParamSpec, TypeVar

ERA = 25
"""After how many files what the analysis keeps of them is taken out of garbage collection."""
SLOTS = 33_000
"""Slots of eight bytes in the frame of `with_room`. It takes over half of a chunk of 512 KiB, the rest is room."""
P = ParamSpec("P")
T = TypeVar("T")


def settle(analysed: bool, files: int) -> None:
    """Take what is kept out of garbage collection: after the first file, the first analysis, and once an era.

    It stays until flake8 ends. An era is `ERA` files: after each file, the garbage of flake8 itself would stay too.
    """
    _settle(analysed, files // ERA)


@cache
def _settle(analysed: bool, era: int) -> None:
    gc.freeze()


@contextmanager
def uncollected() -> Iterator[None]:
    """Leave the garbage of one file to its end: a syntax tree is millions of objects, and none of them is garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def with_room(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function that calls deeply.

    CPython keeps frames in chunks of 16 KiB, and gives one back to the system as soon as its first frame is done. A
    loop of calls at the end of a chunk then asks the system twice a call. A frame that does not fit into a chunk gets
    one of the next power of two, which the frames that follow use too.
    """
    return function(*args, **kwargs)


with_room.__code__ = with_room.__code__.replace(co_stacksize=SLOTS)
