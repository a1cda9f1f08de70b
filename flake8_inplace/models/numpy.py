"""Arrays of numpy that share the memory of a tensor, and packages that compute no tensors."""

from __future__ import annotations

from ..heap.values import Array, List, Storage, Tensor, Unknown, Value
from ..trace.log import STORED
from . import iteration, tensors
from .registry import Call, call_method, method, model, package


def array_method(call: Call, value: Array) -> Value:
    """Call a method of an array."""
    made = call_method(call, value, "numpy.ndarray")
    return made if made is not None else Unknown(scalar=True)


@method("numpy.ndarray", "reshape", "view", "transpose", "squeeze", "ravel", "swapaxes")
def _view(call: Call, value: Array) -> Value:
    return value


@model("torch.from_numpy", "torch.from_dlpack", "torch.utils.dlpack.from_dlpack")
def _shared(call: Call) -> Value | None:
    """A tensor over memory that something else holds too."""
    if not call.args:
        return None
    given = call.seen(0)
    if isinstance(given, Array):
        return Tensor(Storage(hidden=given.storage))
    if isinstance(given, Tensor):
        return tensors.data(call.m, given)
    if isinstance(given, Unknown):
        return call.m.promote(call.m.symbol("memory", given))
    return tensors.unknown_call(call.m, *call.values)


@package("numpy", "math", "random", "os", "time", "pandas", "logging", "json", "re")
def _no_tensor(call: Call) -> Value:
    for arg in map(call.m.see, call.args) if call.m.state[STORED] else ():
        if isinstance(arg, List):
            iteration.elements(call.m, arg)  # np.stack(arrays) reads them
    return Unknown(scalar=True)
