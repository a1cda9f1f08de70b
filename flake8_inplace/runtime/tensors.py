"""What the sanitizer reads from a tensor without leaving a trace: its memory, its version, its contents."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
EXACT = 512
"""Up to so many elements are compared one by one."""
SAMPLES = 16
"""Of larger tensors, so many words are compared one by one besides the sum of all: that shows a change of order."""


def storage_of(tensor: torch.Tensor) -> Any:
    """What names a tensor's memory; None where it has none (sparse, wrapped by a transform, a lazy parameter)."""
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError, ValueError):
        return None


def version_of(tensor: torch.Tensor) -> int:
    """How often a tensor's memory was written to; -1 for inference tensors, which do not count."""
    return -1 if tensor.is_inference() else tensor._version


def detached(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the same memory and version outside of the graph. Dispatch modes see it made of subclasses only."""
    guard: AbstractContextManager[object] = (
        torch._C._DisableTorchDispatch() if type(tensor) in _PLAIN else nullcontext()
    )
    with guard:
        return tensor.detach()


class Fingerprint(NamedTuple):
    """A copy of up to `EXACT` elements of a tensor; of a larger one the sum of its words, and some of them."""

    words: torch.Tensor
    total: torch.Tensor | None

    def fits(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor still has these contents, as far as they can be read."""
        if not _is_readable(tensor):
            return True
        with torch._C._DisableTorchDispatch(), torch._C._AutoDispatchBelowAutograd():
            words, total = _read(tensor)
            if self.total is not None and total is not None and not torch.equal(self.total, total):
                return False
            return bool(torch.equal(self.words, words))


def fingerprint_of(tensor: torch.Tensor) -> Fingerprint | None:
    """What tells the contents of a tensor from others; None where there are no plain bytes to read.

    Nothing of the size of a large tensor is allocated, whatever its strides are.
    """
    if not _is_readable(tensor):
        return None
    with torch._C._DisableTorchDispatch(), torch._C._AutoDispatchBelowAutograd():
        words, total = _read(tensor)
        return Fingerprint(words.clone(), total)


def _read(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The words that are compared one by one, in the memory of the tensor, and the sum of all if those are not all."""
    bits = _bits(tensor)
    number = bits.numel()
    if number <= EXACT:
        return bits, None
    if bits.is_contiguous() or _is_dense(bits):
        longer = 8 // bits.element_size()
        if longer > 1 and not number % longer and not bits.storage_offset() % longer:
            number //= longer
            bits = bits.as_strided((number * longer,), (1,)).view(torch.int64)
        else:
            bits = bits.as_strided((number,), (1,))
        return bits.as_strided((SAMPLES,), (number // SAMPLES,)), bits.sum(dtype=torch.int64)
    return bits[(slice(None, 1),) * bits.dim()], bits.sum(dtype=torch.int64)


def _is_readable(tensor: torch.Tensor) -> bool:
    if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_quantized or tensor.device.type == "meta":
        return False
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor) or torch._is_functional_tensor(tensor):
        return False
    # A subclass with operators of its own may have no memory of its own: a fake tensor, a distributed one.
    return type(tensor) in _PLAIN or not torch._C._dispatch_keys(tensor).has(torch._C.DispatchKey.Python)


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """The elements as integers, for which NaN is equal to itself."""
    if tensor.is_conj():
        tensor = tensor.conj()
    if tensor.is_neg():
        tensor = torch._neg_view(tensor)
    if tensor.element_size() not in _WORDS:
        tensor = torch.view_as_real(tensor)
    return tensor.view(_WORDS[tensor.element_size()])


def _is_dense(bits: torch.Tensor) -> bool:
    """Whether the elements lie side by side in memory, in whatever order of the dimensions."""
    expected = 1
    for size, stride in sorted(zip(bits.shape, bits.stride(), strict=True), key=lambda pair: pair[1]):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True
