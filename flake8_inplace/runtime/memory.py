"""What writing in place saves on a device: `flake8-inplace memory [--device cuda] [--json FILE] [--plot FILE]`.

What is measured is the memory that PyTorch's allocator hands out while a call runs, counted from what was allocated
when the call began: its highest level (`peak`) and what is left of it when the call has returned and its result is
held (`kept`). On CUDA that is `torch.cuda.max_memory_allocated` and `memory_allocated`. On the CPU it is the running
total of the allocations and releases that `torch.profiler` records with `profile_memory=True`; it does not see the
release of what was allocated before the call. What libraries take past PyTorch's allocator (oneDNN's scratch space, the
CUDA context) is in neither.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.profiler import ProfilerActivity, profile

from .device import DeviceMissing, device_of, environment, progress

MIB = 2**20

# -- measuring


@dataclass(frozen=True, slots=True)
class Usage:
    """Bytes that a call allocated, beyond what was allocated when it began."""

    peak: int  # the most at any moment
    kept: int  # what is still allocated after the call, while its result is held


@dataclass(frozen=True, slots=True)
class Comparison:
    """The usage of two calls."""

    first: Usage
    second: Usage

    @property
    def saved(self) -> int:
        """Bytes that the second call's peak lies below the first one's."""
        return self.first.peak - self.second.peak


def compare_memory(f: Callable[[], object], g: Callable[[], object], device: str | torch.device) -> Comparison:
    """Measure a call of `f` and then one of `g`, each with what it allocates on a device, in bytes.

    Each is called once. What a first call sets up (cuBLAS takes a workspace) counts, unless you call it before.
    """
    return Comparison(measure(f, device), measure(g, device))


def measure(f: Callable[[], object], device: str | torch.device) -> Usage:
    """Call `f` once and measure what it allocates on a device, in bytes."""
    device = torch.device(device)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        result = f()
        torch.cuda.synchronize(device)
        usage = Usage(torch.cuda.max_memory_allocated(device) - before, torch.cuda.memory_allocated(device) - before)
    elif device.type == "cpu":
        os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # the profiler reports its own start and end on standard error
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
            result = f()
        events = [e for e in recorded.profiler.kineto_results.events() if e.name() == "[memory]"]
        events.sort(key=lambda event: event.start_ns())
        levels = list(accumulate((event.nbytes() for event in events), initial=0))
        usage = Usage(max(levels), levels[-1])
    else:
        raise ValueError(f"memory is measured on cpu and cuda, not on {device.type}")
    del result  # held until here: it is what `kept` counts
    return usage


# -- the reference: one activation


def reference(device: torch.device, side: int) -> Comparison:
    """`F.relu` against `F.relu_` on a square tensor of float32, without gradients."""
    x = torch.randn(side, side, device=device)
    return compare_memory(lambda: F.relu(x), lambda: F.relu_(x), device)


# -- a network


@dataclass(frozen=True, slots=True)
class Training:
    """The memory of a classifier after its training, and the loss of the last step, which tells that it is the same."""

    step: Usage  # a training step: forward, backward, update
    forward: Usage  # its forward pass; `kept` is what autograd keeps for the backward
    inference: Usage  # a forward pass under no_grad
    loss: float


BATCH, STEPS, CLASSES = 1024, 30, 10


def classifier(inplace: bool, device: torch.device) -> nn.Sequential:
    """Four linear layers for images of 28x28, the same weights every time."""
    torch.manual_seed(0)
    layers: list[nn.Module] = [nn.Flatten()]
    for inputs, outputs in ((28 * 28, 512), (512, 512), (512, 512)):
        layers += [nn.Linear(inputs, outputs), nn.ReLU(inplace=inplace)]
    return nn.Sequential(*layers, nn.Linear(512, CLASSES)).to(device)


def generated_images(device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Images of 28x28 and their labels: one pattern for each class, under noise."""
    torch.manual_seed(0)
    patterns = torch.randn(CLASSES, 1, 28, 28)
    labels = torch.randint(CLASSES, (BATCH,))
    images = patterns[labels] + 2 * torch.randn(BATCH, 1, 28, 28)
    return images.to(device), labels.to(device)


def train(inplace: bool, device: torch.device, steps: int = STEPS) -> Training:
    """Train the classifier, and measure a step after the others and a forward pass."""
    net = classifier(inplace, device)
    images, labels = generated_images(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def forward() -> torch.Tensor:
        return F.cross_entropy(net(images), labels)

    def step() -> float:
        loss = forward()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()  # at the end, so that a step releases what it allocates
        return float(loss.item())

    def inference() -> torch.Tensor:
        with torch.no_grad():
            output: torch.Tensor = net(images)
        return output

    for done in range(1, steps + 1):
        loss = step()
        progress(done, steps, "training with in-place activations" if inplace else "training")
    return Training(measure(step, device), measure(forward, device), measure(inference, device), loss)


# -- op by op

Function = Callable[[torch.Tensor], torch.Tensor]

FORMS: dict[str, tuple[Function, Function]] = {
    "relu": (F.relu, F.relu_),
    "leaky_relu": (F.leaky_relu, F.leaky_relu_),
    "elu": (F.elu, F.elu_),
    "hardtanh": (F.hardtanh, F.hardtanh_),
    "silu": (F.silu, lambda x: F.silu(x, inplace=True)),
    "hardswish": (F.hardswish, lambda x: F.hardswish(x, inplace=True)),
    "mish": (F.mish, lambda x: F.mish(x, inplace=True)),
    "dropout": (F.dropout, lambda x: F.dropout(x, inplace=True)),
    "sigmoid": (torch.sigmoid, torch.sigmoid_),
    "tanh": (torch.tanh, torch.tanh_),
    "exp": (torch.exp, torch.exp_),
    "sin": (torch.sin, torch.sin_),
    "square": (torch.square, torch.square_),
    "clamp": (lambda x: x.clamp(min=0.1), lambda x: x.clamp_(min=0.1)),
    "add": (lambda x: x + 1, lambda x: x.add_(1)),
    "mul": (lambda x: x * 2, lambda x: x.mul_(2)),
}
"""Operations that have both forms; arguments as in common use."""


@dataclass(frozen=True, slots=True)
class OpUsage:
    """The forms of one operation in three situations, in bytes. The input is made by the call before, and counts.

    `raises` says that the backward pass refuses the in-place form.
    """

    temporary: Comparison  # without gradients: nobody reads the input again
    trained: (
        Comparison  # with gradients, after an addition, which keeps nothing: only this operation may keep something
    )
    autograd_keeps: Comparison  # with gradients, after `exp`, which keeps its result, the input of this operation
    raises: bool


SIDE = 1024
TENSOR = SIDE * SIDE * 4
"""Bytes of the tensor that the operations are measured with."""


def measure_op(function: Function, inplace: Function, device: torch.device) -> OpUsage:
    """Both forms of one operation in the three situations."""
    plain = torch.rand(SIDE, SIDE, device=device)
    leaf = plain.clone().requires_grad_()

    def after(before: Function, source: torch.Tensor, form: Function) -> Callable[[], torch.Tensor]:
        return lambda: form(before(source))

    def compared(before: Function, source: torch.Tensor) -> Comparison:
        return compare_memory(after(before, source, function), after(before, source, inplace), device)

    def add(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    return OpUsage(compared(add, plain), compared(add, leaf), compared(torch.exp, leaf), refused(inplace, leaf))


def refused(inplace: Function, leaf: torch.Tensor) -> bool:
    """Whether the backward pass refuses to go through `exp` after its result was overwritten."""
    try:
        inplace(torch.exp(leaf)).sum().backward()
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        return True
    return False


# -- the report


def measure_all(device: torch.device, side: int) -> dict[str, Any]:
    """Everything, as it stands in the JSON file. Memory in bytes."""
    first = reference(device, side)
    networks = {"out-of-place": asdict(train(False, device)), "in-place": asdict(train(True, device))}
    usages = {}
    for done, (name, forms) in enumerate(FORMS.items(), 1):
        usages[name] = asdict(measure_op(*forms, device))
        progress(done, len(FORMS), "operations")
    return {"side": side, "reference": asdict(first), "classifier": networks, "tensor": TENSOR, "operations": usages}


def render(result: dict[str, Any]) -> str:
    """The tables, as text, from what `measure_all` returns."""
    side, networks, tensor = result["side"], result["classifier"], result["tensor"]
    lines = [
        f"one activation, {side} x {side} float32, without gradients: peak in MiB",
        f"  F.relu   {mib(result['reference']['first']['peak'])}",
        f"  F.relu_  {mib(result['reference']['second']['peak'])}",
        "",
        f"a classifier of four linear layers, batch of {BATCH}, after {STEPS} training steps: MiB",
        f"  {'':<34}{'ReLU()':>9}{'ReLU(inplace=True)':>21}",
    ]
    for key, of, title in (
        ("step", "peak", "peak of a training step"),
        ("forward", "peak", "peak of its forward pass"),
        ("forward", "kept", "kept for the backward pass"),
        ("inference", "peak", "peak of inference"),
    ):
        plain, inplace = (mib(networks[form][key][of]) for form in ("out-of-place", "in-place"))
        lines.append(f"  {title:<34}{plain:>9}{inplace:>21}")
    plain, inplace = (f"{networks[form]['loss']:.4f}" for form in ("out-of-place", "in-place"))
    lines += [
        f"  {'loss of the last training step':<34}{plain:>9}{inplace:>21}",
        "",
        f"op by op, out-of-place -> in-place, in tensors of {mib(tensor)} MiB; the input counts",
        f"  {'':<12}{'no gradients':<16}{'gradients, after x + 1':<31}{'gradients, after exp(x)':<31}",
        f"  {'':<12}{'peak':<16}{'peak':<14}{'kept':<17}{'peak':<14}{'kept':<14}{'backward':<8}",
    ]
    for name, usage in result["operations"].items():
        cells = [change(usage["temporary"], "peak", tensor).ljust(16)]
        for key, width in (("trained", 17), ("autograd_keeps", 14)):
            cells += [change(usage[key], "peak", tensor).ljust(14), change(usage[key], "kept", tensor).ljust(width)]
        lines.append(f"  {name:<12}{''.join(cells)}{'raises' if usage['raises'] else 'runs'}")
    return "\n".join(line.rstrip() for line in lines)


def mib(count: int) -> str:
    return f"{count / MIB:.1f}"


def change(compared: dict[str, dict[str, int]], of: str, tensor: int) -> str:
    before, after = (f"{compared[form][of] / tensor:.1f}" for form in ("first", "second"))
    return f"{before} -> {after}" if before != after else f"{before}"


def plot(result: dict[str, Any], path: Path) -> None:
    """Draw the table of operations; the name's ending chooses the format. Needs matplotlib."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "flake8-inplace"  # the same figures make the same file
    from matplotlib import pyplot

    names = list(result["operations"])
    panels = (
        ("temporary", "peak", "no gradients:\npeak"),
        ("trained", "kept", "gradients, after x + 1:\nkept after the forward"),
        ("autograd_keeps", "kept", "gradients, after exp(x):\nkept after the forward"),
    )
    figure, axes = pyplot.subplots(1, len(panels), figsize=(11, 0.32 * len(names) + 1.6), sharex=True, sharey=True)
    for axis, (situation, of, title) in zip(axes, panels, strict=True):
        for form, label, offset, color in (("first", "out-of-place", -0.2, "C7"), ("second", "in-place", 0.2, "C0")):
            usages = [result["operations"][name] for name in names]
            broken = [situation == "autograd_keeps" and form == "second" and usage["raises"] for usage in usages]
            axis.barh(
                [place + offset for place in range(len(names))],
                [usage[situation][form][of] / result["tensor"] for usage in usages],
                height=0.38,
                label=label,
                color=["white" if refused else color for refused in broken],
                edgecolor=["C3" if refused else color for refused in broken],
                hatch=["////" if refused else "" for refused in broken],
            )
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("tensors of the input's size")
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    axes[0].legend(loc="lower right", fontsize=8)
    axes[-1].text(
        0.98, 0.02, "hatched: the backward raises", transform=axes[-1].transAxes, ha="right", color="C3", fontsize=8
    )
    about = result["about"]
    figure.suptitle(
        f"Memory of both forms on {about['device']} ({about['device_name']}), torch {about['torch']}", fontsize=11
    )
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main(argv: Sequence[str]) -> int:
    """Exit status: 0 measured, 2 wrong usage, no such device, or no matplotlib for a plot."""
    parser = argparse.ArgumentParser(
        prog="flake8-inplace memory", description="Measure what writing in place saves on a device."
    )
    parser.add_argument("--device", default="cpu", help="cpu, cuda, cuda:1 (default: cpu)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures to a file, too; in bytes")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="draw the operations, as .svg or .png")
    parser.add_argument(
        "--side", metavar="N", type=int, default=10_000, help="side of the square tensor of F.relu (default: 10000)"
    )
    options = parser.parse_args(argv)
    if options.plot is not None and importlib.util.find_spec("matplotlib") is None:
        print("--plot needs matplotlib: python -m pip install 'flake8-inplace[plot]'", file=sys.stderr)
        return 2
    try:
        device = device_of(options.device, ("cpu", "cuda"))
    except DeviceMissing as error:
        print(error, file=sys.stderr)
        return 2
    about = environment(device, "flake8_inplace.runtime.memory", argv)
    print(f"{about['device']} ({about['device_name']}), torch {about['torch']}, Python {about['python']}\n")
    result = {"about": about, **measure_all(device, options.side)}
    print(render(result))
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if options.plot is not None:
        plot(result, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
