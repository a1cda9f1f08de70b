"""Reads of values that have changed under the name that reads them: what autograd saved none of.

A tensor that shares the memory of another (a view, what ``detach()`` or ``state_dict()`` gives, what came from a numpy
array) is remembered with the line that took it and with its contents. If it is read again, other contents are there,
and nothing wrote through it or through a part of it, then somebody else has overwritten it: a stale read. That may be
meant, as with parameters that are views of one buffer; this says what happened, and raises nothing.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ..torchfacts.contents import AS, LIKE, MAKING, METADATA, REPLACING
from ..torchfacts.kinds import DIFFERENCES, plain
from .frames import Stack, here, is_ours
from .ledger import Ledger, Track
from .names import Names
from .tensors import Fingerprint, detached, fingerprint_of, storage_of

_OVERWRITING = REPLACING | {"__setitem__", "__set__", "set_", "resize_"}
"""What replaces the contents of its first operand, and does not read them."""
_NOT_READING = METADATA | MAKING | LIKE
_NOT_READING |= {*"storage untyped_storage requires_grad_ retain_grad register_hook backward detach".split()}
_NOT_READING |= {"register_post_accumulate_grad_hook", "__hash__", "__get__"}
"""What asks for no element. `detach` and ``.data`` are taken to write as often as to read."""
_TAKING = frozenset({"as_tensor", "asarray", "frombuffer", "from_dlpack", "from_numpy"})
"""What makes a tensor of memory that is somebody else's."""
_GRAD = torch._C.TensorBase.grad


@dataclass(slots=True, eq=False)
class _Taken:
    """A tensor that is watched: the line that took it, its contents, and the one that it is a part of."""

    tensor: weakref.ref[torch.Tensor]
    stack: Stack
    clock: int
    track: Track
    contents: Fingerprint
    whole: _Taken | None
    written: bool = False
    """Whether something wrote through it, or through a part of it, since its contents were looked at."""


class StaleReads(TorchFunctionMode):  # type: ignore[misc]  # torch is not read by mypy
    """What one thread reads, seen where Python calls PyTorch."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self.ledger = ledger
        self.taken = ledger.taken
        self.names = Names()

    def __exit__(self, *exception: Any) -> None:
        self.names.clear()
        super().__exit__(*exception)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, caller = kwargs or {}, sys._getframe(1)
        if is_ours(caller.f_code.co_filename) or torch.compiler.is_compiling():
            return func(*args, **kwargs)
        self.names.settle(caller)
        name = getattr(func, "__name__", "")
        operands = list(_tensors((args, [value for key, value in kwargs.items() if key != "out"])))
        if name in _NOT_READING:
            result = func(*args, **kwargs)
        else:
            if name in _OVERWRITING and operands and operands[0] not in self.taken:
                self.take(operands[0])
            read = operands[1:] if name in _OVERWRITING else operands[:1] if name in AS else operands
            for tensor in read:
                self.read(tensor, name, caller)
            if plain(name.strip("_")) in DIFFERENCES:
                self.related(operands, name, caller)
            for argument in args:
                if isinstance(argument, list):
                    self.repeated(argument, name)
            began = next(self.ledger.clock)
            result = func(*args, **kwargs)
            for tensor in [*operands, *_tensors(kwargs.get("out"))]:
                self._passed(tensor, name, caller, began)
        accessed = name == "__get__" and getattr(func, "__self__", None) is _GRAD
        for tensor in _tensors(result):
            self._made(tensor, operands, name in _TAKING, accessed)
        return result

    def take(self, tensor: torch.Tensor, whole: torch.Tensor | None = None) -> None:
        """Watch a tensor from here on, as a part of another if it is one."""
        contents = fingerprint_of(tensor) if storage_of(tensor) is not None else None
        if contents is not None:
            known = self.taken.get(whole) if whole is not None else None
            clock, track = next(self.ledger.clock), self.ledger.track(tensor)
            self.taken[tensor] = _Taken(weakref.ref(tensor), here()[0], clock, track, contents, known)

    def read(self, tensor: torch.Tensor, op: str, caller: FrameType | None = None) -> None:
        """Something is about to read a tensor."""
        taken = self.taken.get(tensor)
        alias = self.names.read(tensor, caller) if caller is not None else None
        if taken is None:
            self.take(tensor)
        elif not taken.contents.fits(tensor):
            if not taken.written:
                self.ledger.stale(tensor, op, taken.stack, taken.clock, taken.track)
            self._look(taken)
        else:
            taken.written = False
            if alias is not None:
                self.ledger.stale(tensor, op, alias.stack, alias.clock, taken.track)

    def related(self, operands: list[torch.Tensor], op: str, caller: FrameType) -> None:
        """A difference is asked for: of a tensor and itself by mistake, under a name that is older than a write."""
        if len(operands) > 1 and operands[0] is operands[1]:
            taken = self.taken.get(operands[0])
            alias = self.names.related(operands[0], caller) if taken is not None and taken.track.events else None
            if taken is not None and alias is not None:
                self.ledger.stale(operands[0], op, alias.stack or taken.stack, alias.clock, taken.track)

    def repeated(self, tensors: list[Any], op: str) -> None:
        """Something is about to read a list. If one tensor is in it twice, and was written to, it is so by mistake."""
        seen: set[int] = set()
        for tensor in tensors:
            if not isinstance(tensor, torch.Tensor):
                return
            taken = self.taken.get(tensor)
            if id(tensor) in seen and taken is not None and taken.track.events:
                self.ledger.stale(tensor, op, taken.stack, -1, taken.track)
                return
            seen.add(id(tensor))

    def written(self, tensor: torch.Tensor) -> None:
        """Something writes through a tensor: to it, and to all that it is a part of."""
        taken: _Taken | None = self.taken.get(tensor)
        while taken is not None:
            taken.written = True
            taken = taken.whole

    def array_of(self, tensor: torch.Tensor) -> tuple[Callable[[], None], Callable[[], None]]:
        """A numpy array is made of a tensor's memory: what to call before it is written to, and before it is read."""
        alias = detached(tensor)
        if tensor not in self.taken:
            self.take(tensor)
        self.take(alias, tensor)

        def note() -> None:
            self.ledger.note("numpy", alias)
            self.written(alias)

        return note, lambda: self.read(alias, "numpy")

    def _passed(self, tensor: torch.Tensor, op: str, caller: FrameType, began: int) -> None:
        """A call was given this tensor, and may have written to it."""
        taken: _Taken | None = self.taken.get(tensor)
        if taken is not None and not taken.contents.fits(tensor):
            if all(event.clock < began for event in taken.track.events.values()):
                self.ledger.note(op, tensor)  # no schema says it: statistics of a batch norm
            self.names.written(tensor, caller, taken.stack, began)
            self.written(tensor)
            self._look(taken)

    def _made(self, tensor: torch.Tensor, operands: Iterable[torch.Tensor], taking: bool, accessed: bool) -> None:
        """A call returned this tensor."""
        if tensor in self.taken:
            if accessed:
                self._look(self.taken[tensor])  # whoever asks for a gradient means the one that is there now
            return
        memory = storage_of(tensor)
        whole = next((each for each in operands if each is not tensor and storage_of(each) == memory), None)
        if not (operands or taking or accessed):
            self.names.blank(tensor)
        if memory is not None and (whole is not None or taking or accessed):
            if whole is not None and whole not in self.taken:
                self.take(whole)
            self.take(tensor, whole)

    def _look(self, taken: _Taken) -> None:
        """Take the contents as they are now for what is expected."""
        tensor = taken.tensor()
        contents = fingerprint_of(tensor) if tensor is not None else None
        if contents is not None:
            taken.contents, taken.written = contents, False
            taken.stack, taken.clock = here()[0], next(self.ledger.clock)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
