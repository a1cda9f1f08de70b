"""Automatic mixed precision: where ``torch.autocast`` is on, and what it casts."""

from __future__ import annotations

from ..heap.values import NONE, Choice, Const, DType, Tensor, Value, constant
from ..torchfacts import autocast, ops
from ..trace.callables import Autocast, Bound
from ..trace.frames import Function
from ..trace.trace import Trace
from . import dtypes
from .registry import Call, model
from .tensors import fresh

_PLAIN = ("torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast")
_OF_DEVICE = tuple(
    f"torch.{device}.amp.{name}" for device in ("cuda", "cpu") for name in ("autocast", "autocast_mode.autocast")
)
_CUSTOM = ("torch.amp.custom_fwd", "torch.cuda.amp.custom_fwd")
DECORATORS = frozenset({*_PLAIN, *_OF_DEVICE, *_CUSTOM})
"""What a decorator may be called that steers autocast."""


@model(*_PLAIN)
def _autocast(call: Call) -> Value:
    return Autocast(_enabled(call.argument(2, "enabled", Const(True))), _device(call.argument(0, "device_type")))


@model(*_OF_DEVICE)
def _autocast_of_device(call: Call) -> Value:
    return Autocast(_enabled(call.argument(0, "enabled", Const(True))), call.name.split(".")[1])


@model("torch.set_autocast_enabled")
def _set_autocast(call: Call) -> Value:
    """``torch.set_autocast_enabled("cuda", True)``; the device may be left out."""
    device = _device(call.args[0]) if len(call.args) > 1 else ""
    mode = Autocast(_enabled(call.args[-1] if call.args else NONE), device)
    switch(call.m, mode)
    return NONE


def _enabled(value: Value) -> bool | None:
    return bool(value.value) if isinstance(value, Const) else None


def _device(value: Value) -> str:
    return str(constant(value) or "").partition(":")[0]


@model(*_CUSTOM)
def _custom_forward(call: Call) -> Value:
    """The decorator of a custom forward: it may cast what the function is given, and then switches autocast off."""
    wanted = call.m.see(call.kwargs.get("cast_inputs", NONE))
    if call.args and isinstance(call.args[0], (Function, Bound)):
        return call.args[0]
    return Autocast(False, casts=True) if dtypes.named(wanted) is DType.LOWER else NONE


def switch(m: Trace, value: Value) -> None:
    """Switch autocast as a context manager or decorator says."""
    found = m.see(value)
    options = [option for _, option in found.options] if isinstance(found, Choice) else [found]
    given = [option for option in options if isinstance(option, Autocast)]
    if not given:
        return
    sure = len(given) == len(options) == 1 and given[0].on is not None
    m.state.set(m.state.modes, "autocast", (given[0] if given[0].on else None) if sure else True)


def cast_inputs(m: Trace, args: list[Value]) -> list[Value]:
    """The arguments of a function that has them cast, if autocast is on: copies in the lower precision."""
    if not m.state.modes.get("autocast"):
        return args
    return [_cast(m, m.see(arg)) for arg in args]


def _cast(m: Trace, value: Value) -> Value:
    if not isinstance(value, Tensor) or value.dtype is not DType.UNKNOWN:
        return value
    state = m.cell(value)
    copy = fresh(state.grad, state.node, state.leaf)
    copy.dtype = DType.LOWER
    return copy


def copies(m: Trace, op: ops.Op, tensor: Tensor) -> bool:
    """Whether an operator is given, and so saves, a copy of a tensor in another precision."""
    mode = m.state.modes.get("autocast")
    if not mode:
        return False
    if autocast.lowers(op.name):
        return tensor.dtype not in (DType.LOWER, DType.DOUBLE)
    return tensor.dtype is DType.LOWER and autocast.raises(op.name, device(mode))


def device(mode: object) -> str:
    return mode.device if isinstance(mode, Autocast) else ""
