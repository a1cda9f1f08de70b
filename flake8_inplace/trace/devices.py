"""Devices: whether a module's tensors are on the CPU, where ``cpu()`` copies nothing, as far as the program says it."""

from __future__ import annotations

from ..heap.state import Declared, same_or_none
from ..heap.values import Choice, Object, Ref, Storage, Value, constant
from . import holdings
from .trace import Trace

MOVED: Declared[Storage | Value, bool | None] = Declared(same_or_none)
"""Whether a module was moved to the CPU when it was moved last, by the memory of its tensors, or by itself where none
of them is known. None as for `is_cpu`."""
_SLOT = "device"
"""What the store has of the result of ``torch.device()``: what it was made from."""


def make(m: Trace, device: Value, made_from: Value) -> None:
    """Note what ``torch.device(...)`` was made from."""
    m.state.set(m.state.store, (device, _SLOT), m.see(made_from))


def is_device(m: Trace, value: Value) -> bool:
    """Whether a value is a ``torch.device()``."""
    return (value, _SLOT) in m.state.store


def is_name(value: Value) -> bool:
    """Whether a value is the name of a device: ``"cuda" if torch.cuda.is_available() else "cpu"``."""
    names = [option for _, option in value.options] if isinstance(value, Choice) else [value]
    return all(isinstance(constant(name), str) for name in names)


def of(m: Trace, tensor: Value) -> Value:
    """Return the device of a tensor."""
    found = m.symbol(tensor, "device", scalar=True)
    make(m, found, found)
    return found


def move(m: Trace, device: Value, *modules: Value) -> None:
    """Note that modules were moved; not if ``device`` is a type: ``model.to(torch.float32)``."""
    if isinstance(m.see(device), Ref):
        return
    for module in modules:
        known = [tensor.storage.memory for tensor in holdings.held(m, module, set())]
        for moved in known if isinstance(module, Object) else [module]:
            m.state.set(m.state[MOVED], moved, is_cpu(m, device))


def is_cpu(m: Trace, device: Value) -> bool | None:
    """Whether a device is the CPU; None if it is on some machines: ``"cuda" if is_available() else "cpu"``."""
    device = m.see(device)
    found = m.see(m.state.store.get((device, _SLOT), device))
    names = [constant(option) for _, option in found.options] if isinstance(found, Choice) else [constant(found)]
    answers = {name == "cpu" if isinstance(name, str) else None for name in names}
    return answers.pop() if len(answers) == 1 else None


def on_cpu(m: Trace, module: Value, memory: Storage) -> bool | None:
    """Whether a module is on the CPU; None if that depends on the machine, or on who calls the program.

    ``memory`` is that of one of its tensors.
    """
    made = isinstance(module, Object) and all(frame.receiver is not module for frame in m.stack.frames)
    return m.state[MOVED].get(memory if isinstance(module, Object) else module, True if made else None)
