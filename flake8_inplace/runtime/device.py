"""The device that a command was asked for, and what a reader has to know of the machine that figures come from."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Collection, Sequence

import torch


class DeviceMissing(RuntimeError):
    """This PyTorch cannot use the device; the text is one line for the user."""


def device_of(name: str, kinds: Collection[str] | None = None) -> torch.device:
    """The device of this name ("cpu", "cuda", "cuda:1"), once a tensor could be made on it; of these kinds only."""
    try:
        device = torch.device(name)
        if kinds is not None and device.type not in kinds:
            raise ValueError(f"this is for {' and '.join(kinds)} only")
        torch.ones(1, device=device)
    except Exception as error:  # PyTorch has a class for each reason: no such name, not compiled in, no driver
        reason = str(error).partition("\n")[0]
        raise DeviceMissing(f"torch {torch.__version__} cannot use the device {name!r}: {reason}") from error
    return device


def environment(device: torch.device, module: str, argv: Sequence[str], traced: bool = False) -> dict[str, str | None]:
    """Where figures come from: the command that made them, the device and the versions."""
    cuda = device.type == "cuda"
    return {
        "command": shlex.join(["python", "-m", module, *argv]),
        "device": str(device),
        "device_name": _name(device, traced),
        "torch": torch.__version__,
        "cuda": torch.version.cuda if cuda else None,
        "cudnn": str(torch.backends.cudnn.version()) if cuda and not traced else None,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


def _name(device: torch.device, traced: bool) -> str:
    if traced:
        return "none: traced on the build, without a device"
    return torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or platform.machine()


def progress(done: int, total: int, what: str) -> None:
    """One line on standard error that the next one overwrites; nothing where nobody watches."""
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\r{what} {done}/{total} ({done / total:.0%})\033[K", end=end, file=sys.stderr, flush=True)
