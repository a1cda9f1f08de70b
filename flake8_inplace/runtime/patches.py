"""What has to be changed in PyTorch and Python while a sanitizer is on.

Everything here is undone when the last one ends, and does nothing in threads that are not watched.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from .watch import TRANSFORMED, current_watch, watching

_patches = ExitStack()
_users = 0
_lock = threading.Lock()


@contextmanager
def patched() -> Iterator[None]:
    """Other hooks, transforms that refuse hooks, new threads, arrays and optimizers work with the sanitizer inside."""
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            _patch()
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _patches.close()


def _patch() -> None:
    for owner, name, make in (
        (saved_tensors_hooks, "__enter__", _enter_hooks),
        (saved_tensors_hooks, "__exit__", _exit_hooks),
        (torch.autograd.graph, "disable_saved_tensors_hooks", _disable_hooks),
        (threading.Thread, "start", _start_thread),
        (torch.Tensor, "numpy", _make_array),
        (torch, "from_numpy", _take_array),
        (torch.Tensor, "register_hook", _register_hook),
        (torch.Tensor, "register_post_accumulate_grad_hook", _register_hook),
        (torch.autograd, "_engine_run_backward", _run_backward),
        (torch, "ctc_loss", _run_plainly),
    ):
        original, inherited = getattr(owner, name), name not in vars(owner)
        setattr(owner, name, make(original))
        _patches.callback(*((delattr, owner, name) if inherited else (setattr, owner, name, original)))
    _patches.callback(register_optimizer_step_pre_hook(_before_step).remove)
    _patches.callback(register_optimizer_step_post_hook(_after_step).remove)


def _enter_hooks(original: Callable[..., None]) -> Callable[..., None]:
    def enter(self: saved_tensors_hooks) -> None:
        watch = current_watch()
        if watch is None:
            return original(self)
        torch._C._autograd._push_saved_tensors_default_hooks(*watch.around(self.pack_hook, self.unpack_hook))
        watch.foreign += 1
        return None

    return enter


def _exit_hooks(original: Callable[..., None]) -> Callable[..., None]:
    def leave(self: saved_tensors_hooks, *exception: object) -> None:
        watch = current_watch()
        if watch is not None and watch.foreign:
            watch.foreign -= 1
        original(self, *exception)

    return leave


def _disable_hooks(
    original: Callable[[str], AbstractContextManager[None]],
) -> Callable[[str], AbstractContextManager[None]]:
    @contextmanager
    def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
        """Transforms refuse to run under hooks. Ours step aside for them: PyTorch's own check is on then."""
        watch = current_watch()
        if watch is None or watch.foreign or watch.aside:
            with original(error_message):
                yield
            return
        watch.note(TRANSFORMED)
        torch._C._autograd._pop_saved_tensors_default_hooks()
        watch.aside = True
        try:
            with original(error_message):
                yield
        finally:
            watch.aside = False
            torch._C._autograd._push_saved_tensors_default_hooks(*watch.pair)

    return disable_saved_tensors_hooks


def _start_thread(original: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    def start(self: threading.Thread) -> None:
        watch = current_watch()
        if watch is not None:
            ledger, run = watch.ledger, self.run

            def watched() -> None:
                del self.run
                with nullcontext() if ledger.closed else watching(ledger):
                    run()

            self.run = watched  # type: ignore[method-assign]
        original(self)

    return start


def _register_hook(original: Callable[..., Any]) -> Callable[..., Any]:
    def register(self: torch.Tensor, hook: Callable[..., Any]) -> Any:
        watch = current_watch()
        if watch is not None:
            watch.ledger.python_in_backward = True
        return original(self, hook)

    return register


def _run_backward(original: Callable[..., Any]) -> Callable[..., Any]:
    """Formulas of PyTorch do not write to what was saved, and compute in another way where a mode looks on."""

    def run_backward(outputs: Any, *args: Any, **kwargs: Any) -> Any:
        watch = current_watch()
        creates_graph = args[2] if len(args) > 2 else True
        if watch is None or creates_graph or watch.ledger.python_in_backward or watch.foreign:
            return original(outputs, *args, **kwargs)
        with watch.unseen():
            return original(outputs, *args, **kwargs)

    return run_backward


def _run_plainly(original: Callable[..., Any]) -> Callable[..., Any]:
    """Where a mode looks on, an operator takes other arguments, and saves what it would not."""

    def run(*args: Any, **kwargs: Any) -> Any:
        watch = current_watch()
        with nullcontext() if watch is None else watch.unseen():
            return original(*args, **kwargs)

    return run


def _make_array(original: Callable[..., Any]) -> Callable[..., Any]:
    def numpy(self: torch.Tensor, *, force: bool = False) -> Any:
        array = original(self, force=force)
        watch = current_watch()
        if watch is None or not (watch.ledger.fingerprint or watch.reads):
            return array
        from .arrays import watched  # which needs numpy

        if watch.reads is None:
            return watched(array, partial(watch.ledger.note, "numpy", self))
        note, read = watch.reads.array_of(self)
        return watched(array, note, read)

    return numpy


def _take_array(original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A tensor of an array's memory is made where no mode looks on."""

    def from_numpy(array: Any) -> torch.Tensor:
        tensor = original(array)
        watch = current_watch()
        if watch is not None and watch.reads is not None:
            watch.reads.take(tensor)
        return tensor

    return from_numpy


def _before_step(optimizer: torch.optim.Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """An optimizer runs several operators for each parameter, mostly when no graph is left that they could harm."""
    if len(args) == 1 and not kwargs and not torch.compiler.is_compiling():  # a closure would be a forward pass
        watch = current_watch()
        if watch is not None:
            watch.rest()


def _after_step(optimizer: torch.optim.Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    watch = None if torch.compiler.is_compiling() else current_watch()
    if watch is not None:
        watch.resume()
