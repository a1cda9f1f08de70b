"""Time that the sanitizer and that anomaly mode add to a training step, and memory over many steps.

python tests/benchmarks/sanitizer.py                 # the CPU, 30 alternating steps; time of the process
python tests/benchmarks/sanitizer.py --device cuda
python tests/benchmarks/sanitizer.py --memory 1000   # live objects and tensors while 1000 steps run, in each mode
"""

import argparse
import copy
import gc
import resource
import statistics
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import nn

from flake8_inplace.runtime import inplace_sanitizer

MODES: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "plain": nullcontext,
    "sanitizer": inplace_sanitizer,
    "sanitizer, fingerprint=True": lambda: inplace_sanitizer(fingerprint=True),
    "sanitizer, stale_reads=True": lambda: inplace_sanitizer("record", stale_reads=True),
    "anomaly mode": torch.autograd.detect_anomaly,
    "anomaly mode, check_nan=False": lambda: torch.autograd.detect_anomaly(check_nan=False),
}


class Block(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.convolutions(x)
        y += x
        return self.relu(y)


def transformer(large: bool) -> tuple[nn.Module, torch.Tensor]:
    width, length = (1024, 512) if large else (64, 32)
    layer = nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True)
    return nn.TransformerEncoder(layer, 4), torch.randn(8, length, width)


def resnet(large: bool) -> tuple[nn.Module, torch.Tensor]:
    channels, size = (256, 56) if large else (16, 16)
    stem = [nn.Conv2d(3, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(inplace=True)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10)]
    return nn.Sequential(*stem, *(Block(channels) for _ in range(6)), *head), torch.randn(8, 3, size, size)


def wide_transformer(large: bool) -> tuple[nn.Module, torch.Tensor]:
    layer = nn.TransformerEncoderLayer(256, 4, 512, batch_first=True)
    return nn.TransformerEncoder(layer, 2), torch.randn(8, 512 if large else 64, 256)


def convolutions(large: bool) -> tuple[nn.Module, torch.Tensor]:
    channels, size = (256, 56) if large else (16, 16)
    layers = (nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(inplace=True))
    return nn.Sequential(*(copy.deepcopy(layer) for _ in range(6) for layer in layers)), torch.randn(
        8, channels, size, size
    )


class Steps(nn.Module):
    """An LSTM, one cell after the other."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = None
        for step in x:
            state = self.cell(step, state)
        return state[0]


def recurrent(large: bool) -> tuple[nn.Module, torch.Tensor]:
    width = 1024 if large else 32
    return Steps(width), torch.randn(40, 8, width)


PROGRAMS = {
    "transformer encoder, 4 layers of 64": transformer,
    "transformer encoder, 2 layers of 256": wide_transformer,
    "ResNet, 6 blocks": resnet,
    "6 convolutions of 16 channels": convolutions,
    "LSTMCell, 40 steps": recurrent,
}


def training(
    make: Callable[[bool], tuple[nn.Module, torch.Tensor]], device: str, large: bool, update: bool = True
) -> Callable[[], None]:
    """A function that takes one step, with or without the optimizer's update."""
    torch.manual_seed(0)
    model, x = make(large)
    model, x = model.to(device), x.to(device)
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        if update:
            optimizer.step()
        if device != "cpu":
            torch.cuda.synchronize()

    return step


def measure(step: Callable[[], None], rounds: int, clock: Callable[[], float]) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {mode: [] for mode in MODES}
    for counted in range(-2, rounds):
        for mode, times in seconds.items():
            with MODES[mode]():
                start = clock()
                step()
                if counted >= 0:
                    times.append(clock() - start)
    return seconds


def print_times(name: str, seconds: dict[str, list[float]]) -> None:
    plain = statistics.median(seconds["plain"])
    added = {mode: statistics.median(times) - plain for mode, times in seconds.items()}
    print(name)
    for mode, times in seconds.items():
        median = statistics.median(times)
        print(f"  {mode:30} {1000 * median:8.2f} ms  {median / plain:5.2f}x  added {1000 * added[mode]:7.2f} ms")
    for mode in ("sanitizer", "sanitizer, fingerprint=True"):
        print(f"  {mode} / anomaly mode, of the time added: {added[mode] / added['anomaly mode']:.2f}")


def print_memory(step: Callable[[], None], steps: int, mode: str) -> None:
    def count(when: str) -> None:
        gc.collect()
        objects = gc.get_objects()
        tensors = sum(isinstance(thing, torch.Tensor) for thing in objects)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"  {when:16} {len(objects):7} objects, {tensors:4} tensors, peak of the process {peak} MB")

    print(f" {mode}")
    with MODES[mode]():
        step()  # what PyTorch and the sanitizer keep for good: tables of operators, the optimizer's state
    step()
    count("before")
    with MODES[mode]() as report:
        for number in range(1, steps + 1):
            step()
            if number in (10, steps // 2, steps):
                count(f"after {number}")
    hazards = len(report.hazards)  # type: ignore[attr-defined]
    del report
    count("after the block")
    print(f"  hazards: {hazards}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Time that the sanitizer adds to a training step.")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=30, help="steps of each kind")
    parser.add_argument("--no-update", action="store_true", help="forward and backward only, without the optimizer")
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch on the CPU; more make figures restless")
    parser.add_argument("--memory", type=int, metavar="STEPS", help="count objects over so many steps instead")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(options.threads)
    large = options.device != "cpu"
    place = options.device if not large else torch.cuda.get_device_name()
    print(f"torch {torch.__version__}, {place}, {torch.get_num_threads()} threads, median of {options.rounds}")
    for name, make in PROGRAMS.items():
        step = training(make, options.device, large, not options.no_update)
        if options.memory:
            print(name)
            for mode in (mode for mode in MODES if mode.startswith("sanitizer")):
                print_memory(step, options.memory, mode)
        else:
            print_times(name, measure(step, options.rounds, time.perf_counter if large else time.process_time))


if __name__ == "__main__":
    main()
