"""What the sanitizer reads from a tensor without leaving a trace: its memory, its version, its contents."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch


def storage_of(tensor: torch.Tensor) -> Any:
    """What names a tensor's memory; None where it has none of its own (sparse, or wrapped by a transform)."""
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):
        return None


def version_of(tensor: torch.Tensor) -> int:
    """How often a tensor's memory was written to; -1 for inference tensors, which do not count."""
    return -1 if tensor.is_inference() else tensor._version


def detached(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the same memory and version outside of the graph. Dispatch modes see it made of subclasses only."""
    plain = type(tensor) in (torch.Tensor, torch.nn.Parameter)
    guard: AbstractContextManager[object] = torch._C._DisableTorchDispatch() if plain else nullcontext()
    with guard:
        return tensor.detach()


def fingerprint_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """A checksum of the contents that also knows their order; None where there are no plain bytes to read."""
    if tensor.layout is not torch.strided or tensor.device.type == "meta" or tensor.is_quantized:
        return None
    with torch.no_grad(), torch._C._DisableTorchDispatch():
        flat = (torch.view_as_real(tensor) if tensor.is_complex() else tensor).contiguous().view(-1)
        if flat.dtype.is_floating_point:
            flat = flat.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[flat.element_size()])
        weights = torch.arange(1, 2 * flat.numel(), 2, device=flat.device).mul_(0x9E3779B97F4A7C15 - (1 << 64))
        return (flat.to(torch.int64) * weights).sum()  # not in place: this may be the tensor itself
