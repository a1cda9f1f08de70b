"""Where the calls of the facts are made again: on a device, or as fake tensors of a device that is not there.

A fake tensor has a shape, a dtype and a device, and no memory. PyTorch dispatches on it as on a real one: the node of
the graph, what that saves and the version counters are those of the build. What no trace can know is a choice that
asks the device itself, such as which kernel of attention it has. There a trace refuses to answer (`CHOICES`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch._subclasses.fake_impls import op_implementations_dict, register_op_impl
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

from .device import DeviceMissing

_ATTENTION = "which kernel attention takes is for the device to say"
_CUDNN = "whether cuDNN does it is for the device and its driver to say"
#: The functions that ask the device, by their own name, and what a trace says in place of an answer.
CHOICES: Mapping[str, str] = {
    "scaled_dot_product_attention": _ATTENTION,
    **dict.fromkeys(("gru", "lstm", "rnn_tanh", "rnn_relu", "ctc_loss"), _CUDNN),
}


class NotMeasured(RuntimeError):
    """The facts cannot be measured here; the text is one line for the user."""


class Undecided(RuntimeError):
    """A trace came to a choice that it cannot make."""


class Noted(TorchFunctionMode):  # type: ignore[misc, unused-ignore]  # untyped in some releases
    """Notes why a call fails; calls that these choices concern are made to fail."""

    def __init__(self, choices: Mapping[str, str]) -> None:
        super().__init__()
        self.choices = choices
        self.reason = ""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        try:
            choice = self.choices.get(getattr(func, "__name__", ""))
            if choice is not None:
                raise Undecided(choice)
            return func(*args, **(kwargs or {}))
        except Exception as error:
            self.reason = self.reason or in_short(error)
            raise


def in_short(error: Exception) -> str:
    """An error in less than a line."""
    text = (str(error).strip() or type(error).__name__).partition("\n")[0]
    return text if len(text) <= 120 else f"{text[:117]}..."


class Place:
    """A device. What fails there has a reason."""

    traced = False
    choices: Mapping[str, str] = {}

    def __init__(self, device: torch.device) -> None:
        self.device = device

    @property
    def is_reference(self) -> bool:
        """Whether it is where the facts are from."""
        return self.device.type == "cpu" and not self.traced

    def mode(self) -> AbstractContextManager[Any]:
        """Inside it tensors are made in this place."""
        return nullcontext()

    def moved(self, value: Any) -> Any:
        """The same arguments with their tensors in this place."""
        return tree_map(lambda leaf: self.tensor(leaf) if isinstance(leaf, torch.Tensor) else leaf, value)

    def tensor(self, t: torch.Tensor) -> torch.Tensor:
        return t.to(self.device)

    def make(self, call: Callable[[], object]) -> str:
        """Make a call here, and return why it failed, or why something inside it did."""
        noted = Noted(self.choices)
        with self.mode(), noted:
            try:
                call()
            except Exception as error:  # of any kind: arguments or weights that cannot be brought here
                noted.reason = noted.reason or in_short(error)
        return noted.reason

    def still_there(self, name: str) -> None:
        """A failed assertion inside a CUDA kernel shows at the next synchronization, and nothing runs after it."""
        if self.device.type == "cuda":
            try:
                torch.cuda.synchronize(self.device)
            except RuntimeError as error:
                raise NotMeasured(f"the device stopped at {name}: {in_short(error)}") from error


class Traced(Place):
    """A device that need not be there. No kernel runs, so no value is known and no assertion fails."""

    traced = True
    choices = CHOICES

    def __init__(self, device: torch.device) -> None:
        super().__init__(device)
        op = torch.ops.aten._thnn_fused_gru_cell.default
        if op not in op_implementations_dict:
            register_op_impl(op)(_shapes_of_gru_cell)
        self._fakes: Any = FakeTensorMode(shape_env=ShapeEnv(), static_shapes=True)

    def mode(self) -> AbstractContextManager[Any]:
        fakes: AbstractContextManager[Any] = self._fakes
        return fakes

    def tensor(self, t: torch.Tensor) -> torch.Tensor:
        fake: torch.Tensor = self._fakes.from_tensor(t)
        return fake.to(self.device)

    def still_there(self, name: str) -> None:
        """Nothing runs there."""


def _shapes_of_gru_cell(
    mode: FakeTensorMode, function: object, gates: torch.Tensor, hidden: torch.Tensor, hx: torch.Tensor, *biases: object
) -> tuple[torch.Tensor, torch.Tensor]:
    """The one kernel of a layer for which PyTorch has no shapes: the new state, and a workspace of five times it."""
    with mode:
        return torch.empty_like(hx), hx.new_empty(hx.shape[0], 5 * hx.shape[1])


def traced_place(name: str) -> Traced:
    """The place to trace a device of this name. Raises DeviceMissing where this build of PyTorch is another one."""
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise DeviceMissing(f"torch {torch.__version__} knows no device {name!r}: {in_short(error)}") from error
    if device.type != "cuda":
        raise DeviceMissing(f"only the choices of the CUDA build can be traced, not those of {name!r}")
    if torch.version.cuda is None or not torch.backends.cuda.is_built():
        release = torch.__version__.partition("+")[0]
        raise DeviceMissing(
            f"torch {torch.__version__} is built without CUDA, and its choices are not those of CUDA: a trace needs "
            f"no GPU, but the CUDA build (pip install torch=={release} from PyPI, on Linux)"
        )
    return Traced(device)
