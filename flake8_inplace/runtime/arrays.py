"""Numpy arrays that share a tensor's memory and say when they are written to and read, which no counter knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy


@dataclass(frozen=True, slots=True)
class _Memory:
    """Where an array lies, in bytes, and whom to tell."""

    start: int
    end: int
    note: Callable[[], None]
    read: Callable[[], None] | None


def watched(array: Any, note: Callable[[], None], read: Callable[[], None] | None = None) -> Any:
    """A view of the array that calls ``note`` before it, or a part of it, is written to, and ``read`` before a read.

    Parts of it are not said to be read: what has changed may be elsewhere.
    """
    view = array.view(_Watched)
    start = array.__array_interface__["data"][0]
    view.memory = _Memory(start, start + _extent(array), note, read)
    return view


def _extent(array: Any) -> int:
    low, high = numpy.lib.array_utils.byte_bounds(array)
    return int(high - low)


def _note(array: Any) -> None:
    memory: _Memory | None = getattr(array, "memory", None)
    if memory is not None and memory.start <= array.__array_interface__["data"][0] < memory.end:  # a copy is elsewhere
        memory.note()


def _read(array: Any) -> None:
    memory: _Memory | None = getattr(array, "memory", None)
    if memory is None or memory.read is None:
        return
    start = array.__array_interface__["data"][0]
    if (start, start + _extent(array)) == (memory.start, memory.end):
        memory.read()


class _Watched(numpy.ndarray):
    memory: _Memory | None = None

    def __array_finalize__(self, origin: Any) -> None:
        self.memory = getattr(origin, "memory", None)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
        for array in inputs:
            _read(array)
        for array in out or (inputs[:1] if method == "at" else ()):
            _note(array)
        if out:
            options["out"] = tuple(_plain(array) for array in out)
        result = getattr(ufunc, method)(*map(_plain, inputs), **options)
        if not out:
            return result
        return out[0] if len(out) == 1 else out


def _plain(array: Any) -> Any:
    return array.view(numpy.ndarray) if isinstance(array, _Watched) else array


def _telling(name: str, tell: Callable[[Any], None]) -> Callable[..., Any]:
    original = getattr(numpy.ndarray, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        tell(self)
        return original(self, *args, **kwargs)

    return method


for _name in ("__setitem__", "fill", "partition", "put", "sort"):
    setattr(_Watched, _name, _telling(_name, _note))
for _name in ("copy", "astype", "tolist", "mean", "sum", "max", "min"):
    setattr(_Watched, _name, _telling(_name, _read))
