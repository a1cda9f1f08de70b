"""Numpy arrays that share a tensor's memory and say when they are written to, which no version counter knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy


def watched(array: Any, note: Callable[[], None]) -> Any:
    """A view of the array that calls ``note`` before it, or a view of it, is written to."""
    view = array.view(_Watched)
    start = array.__array_interface__["data"][0]
    view.memory = (start, start + _extent(array), note)
    return view


def _extent(array: Any) -> int:
    low, high = numpy.lib.array_utils.byte_bounds(array)
    return int(high - low)


def _note(array: Any) -> None:
    memory = getattr(array, "memory", None)
    if memory is not None and memory[0] <= array.__array_interface__["data"][0] < memory[1]:  # a copy lies elsewhere
        memory[2]()


class _Watched(numpy.ndarray):
    memory: tuple[int, int, Callable[[], None]] | None = None

    def __array_finalize__(self, origin: Any) -> None:
        self.memory = getattr(origin, "memory", None)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
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


def _noting(name: str) -> Callable[..., Any]:
    original = getattr(numpy.ndarray, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        _note(self)
        return original(self, *args, **kwargs)

    return method


for _name in ("__setitem__", "fill", "partition", "put", "sort"):
    setattr(_Watched, _name, _noting(_name))
