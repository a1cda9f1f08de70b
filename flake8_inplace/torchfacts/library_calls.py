"""Calls of the libraries that have a table in ``libraries/``: `python -m flake8_inplace.torchfacts.library_calls`.

Development only. Each is executed, and compared with its row: what is saved, overwritten and returned. A library that
is not installed is left out, and so is a name that has no call here: its row was read from the library's source.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import attrgetter
from typing import Any

import torch

from .common import measured_outs
from .execution import Overload, Run, bind, is_float, measure
from .notation import Op, Out, format_op, parse_op
from .ops import PACKAGES, layer, library, lookup
from .recipes import Call, call, f

os.environ.setdefault("TRITON_INTERPRET", "1")  # the kernels of Liger run on the CPU, if nothing imported Triton yet
_BOXES = torch.tensor([[0.0, 0.0, 2.0, 2.0], [1.0, 1.0, 3.0, 4.0]])
_OTHERS = torch.tensor([[0.5, 0.0, 2.5, 3.0], [1.0, 0.5, 3.0, 3.5]])
_INDEX = torch.tensor([0, 0, 1, 1])
_PTR = torch.tensor([0, 2, 4])


def _pairs() -> list[Call]:
    return [call(_BOXES.clone(), _OTHERS.clone(), reduction=how) for how in ("sum", "mean", "none")]


def _scattered() -> list[Call]:
    return [call(f(4, 3), _INDEX.clone(), 0), call(f(4, 3), _INDEX.clone(), dim=0, dim_size=3)]


CALLS: dict[str, Callable[[], list[Call]]] = {
    "einops.rearrange(view)": lambda: [
        call(f(2, 3, 4), "a b c -> c a b"),
        call(f(2, 3, 4), "a b (c two) -> two a b c"),
        call(f(2, 1, 4), "a 1 c -> a c"),
    ],
    "einops.rearrange(copy)": lambda: [
        call(f(2, 3, 4), "a b c -> a (c b)"),
        call(f(2, 3, 4), "a b c -> (a c) b"),
    ],
    "einops.rearrange": lambda: [
        call(f(2, 3, 4), "a b c -> a (b c)"),
        call(f(2, 3, 4).transpose(1, 2), "a b c -> a (b c)"),
        call([f(2, 3), f(2, 3)], "n a b -> a n b"),
    ],
    "einops.repeat(expand)": lambda: [call(f(2, 3), "a b -> 4 a b"), call(f(2, 3), "a b -> a 2 b")],
    "einops.repeat(copy)": lambda: [call(f(2, 3), "a b -> (2 a) b"), call(f(2, 3), "a b -> a (b 2)")],
    "einops.repeat(view)": lambda: [call(f(2, 3), "a b -> b a"), call(f(2, 3), "a b -> a 1 b")],
    "einops.repeat": lambda: [
        call(f(2, 3), "a b -> (a b)"),
        call(f(2, 3), "a b -> (b a)"),
        call([f(2, 3), f(2, 3)], "n a b -> n a b 2"),
    ],
    "einops.reduce": lambda: [
        *(call(f(2, 3, 4), "a b c -> a b", how) for how in ("mean", "sum", "max", "min", "prod")),
        *(call([f(2, 3), f(2, 3)], "n a b -> a b", how) for how in ("mean", "sum", "max", "min", "prod")),
    ],
    "einops.einsum": lambda: [call(f(2, 3), f(3, 4), "a b, b c -> a c"), call(f(2, 3), f(2, 3), "a b, a b -> a b")],
    "einops.pack": lambda: [call([f(2, 3), f(2, 4)], "a *"), call([f(2, 3), f(2, 2, 2)], "a *")],
    "einops.unpack": lambda: [call(f(2, 7), [(3,), (2, 2)], "a *"), call(f(2, 6), [(2, 3)], "a *")],
    "torchvision.ops.box_area": lambda: [call(_BOXES.clone())],
    "torchvision.ops.box_convert": lambda: [call(_BOXES.clone(), "xyxy", "cxcywh"), call(f(2, 4), "xywh", "xyxy")],
    "torchvision.ops.box_iou": lambda: [call(_BOXES.clone(), _OTHERS.clone())],
    "torchvision.ops.clip_boxes_to_image": lambda: [call(_BOXES.clone(), (3, 3))],
    "torchvision.ops.complete_box_iou": lambda: [call(_BOXES.clone(), _OTHERS.clone())],
    "torchvision.ops.complete_box_iou_loss": _pairs,
    "torchvision.ops.distance_box_iou": lambda: [call(_BOXES.clone(), _OTHERS.clone())],
    "torchvision.ops.distance_box_iou_loss": _pairs,
    "torchvision.ops.generalized_box_iou": lambda: [call(_BOXES.clone(), _OTHERS.clone())],
    "torchvision.ops.generalized_box_iou_loss": _pairs,
    "torchvision.ops.masks_to_boxes": lambda: [call(torch.ones(1, 4, 4))],
    "torchvision.ops.remove_small_boxes": lambda: [call(_BOXES.clone(), 1.0)],
    "torchvision.ops.sigmoid_focal_loss": lambda: [
        call(f(4), f(4)),
        call(f(4), f(4), reduction="mean"),
        call(f(4), f(4), alpha=-1),
        call(f(4), f(4), reduction="sum"),
    ],
    "torchvision.ops.stochastic_depth": lambda: [
        call(f(4, 3), 0.5, "row"),
        call(f(4, 3), 0.5, "batch"),
        call(f(4, 3), 0.2, "row"),
    ],
    "torchvision.ops.drop_block2d": lambda: [call(f(1, 2, 6, 6), 0.3, 3)],
    "torchvision.ops.drop_block3d": lambda: [call(f(1, 2, 6, 6, 6), 0.3, 3)],
    **{
        f"torch_scatter.scatter_{name}": _scattered
        for name in "sum add mean mul min max softmax log_softmax logsumexp std".split()
    },
    "torch_scatter.scatter": lambda: [
        call(f(4, 3), _INDEX.clone(), 0, reduce=how) for how in ("sum", "mean", "mul", "min", "max")
    ],
    "torch_scatter.segment_csr": lambda: [
        call(f(4, 3), _PTR.clone(), reduce=how) for how in ("sum", "mean", "min", "max")
    ],
    "torch_scatter.segment_coo": lambda: [
        call(f(4, 3), _INDEX.clone(), reduce=how) for how in ("sum", "mean", "min", "max")
    ],
    "torch_scatter.gather_csr": lambda: [call(f(2, 3), _PTR.clone())],
    "torch_scatter.gather_coo": lambda: [call(f(2, 3), _INDEX.clone())],
    **{
        f"liger_kernel.transformers.functional.liger_{name}": chosen
        for name, chosen in {
            "cross_entropy": lambda: [
                call(f(4, 8), torch.arange(4)),
                call(f(4, 8), torch.arange(4), reduction="sum"),
                call(f(4, 8), torch.arange(4), label_smoothing=0.1),
            ],
            "softmax": lambda: [call(f(4, 8))],
            "relu_squared": lambda: [call(f(4, 8))],
        }.items()
    },
}
"""Functions, by the names of their rows: ``einops.repeat(copy)`` stands for patterns whose result is a copy."""

LAYERS: dict[str, tuple[Callable[[Any], Any], Callable[[], list[Call]]]] = {
    "einops.layers.torch.Rearrange": (lambda made: made("a b -> b a"), lambda: [call(f(2, 3))]),
    "torchvision.ops.FrozenBatchNorm2d": (lambda made: made(2), lambda: [call(f(1, 2, 3, 3))]),
    "torchvision.ops.Permute": (lambda made: made([1, 0]), lambda: [call(f(2, 3))]),
    "torchvision.ops.StochasticDepth": (lambda made: made(0.5, "row"), lambda: [call(f(4, 3))]),
    "torchvision.ops.DropBlock2d": (lambda made: made(0.3, 3), lambda: [call(f(1, 2, 6, 6))]),
}
"""Layers without parameters: how one is made of the class, and the calls of it."""


def differences(package: str) -> Iterator[str]:
    """Say, for each row of a library that has a call, where it is not what the calls show."""
    for name, calls in CALLS.items():
        if name.partition(".")[0] == package:
            function = _found(name.partition("(")[0])
            yield from _compare(name, list(lookup(name)), _lengths(function), calls())
    for name, (make, calls) in LAYERS.items():
        if name.partition(".")[0] == package:
            row = layer(name)
            known = [parse_op(row["op"])] if row is not None else []
            yield from _compare(name, known, make(_found(name)), calls())


def _found(name: str) -> Any:
    package, _, rest = name.rpartition(".")
    return attrgetter(rest)(importlib.import_module(package))


def _lengths(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give the length of an axis ``two`` to a pattern that has one."""

    def called(*args: Any, **kwargs: Any) -> Any:
        has = any(isinstance(arg, str) and "two" in arg for arg in args)
        return function(*args, **kwargs, **({"two": 2} if has else {}))

    return called


def _compare(name: str, known: list[Op], function: Callable[..., Any], calls: list[Call]) -> Iterator[str]:
    overloads = [Overload(op, False) for op in known]
    for args, kwargs in calls:
        yield from (f"{name}: overwrites {found}" for found in _unseen(known, function, args, kwargs))
        if not measure(overloads, function, args, kwargs, options=False):
            yield f"{name}: no row for {kwargs}, or it fails"
    for overload in overloads:
        runs = [run for run in overload.runs if run.requires is not None] or overload.runs
        for run in runs:
            expected, written = _saved(overload.op, run), set(overload.op.writes)
            if run.requires is not None and run.saved - written != expected - written:
                yield f"{name}: saves {sorted(run.saved)} for {run.requires} and {run.options}, not {sorted(expected)}"
            if run.written != written:
                yield f"{name}: overwrites {sorted(run.written)}"
        if runs and not _returns(overload.op.outs, measured_outs(overload.op, runs)):
            made = replace(overload.op, outs=measured_outs(overload.op, runs))
            yield f"{name}: {format_op(overload.op)} is {format_op(made)}"


def _unseen(
    known: list[Op], function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[str]:
    """What a call overwrites behind the version counter, and its row denies; what the row says, and it does not."""
    op, bound = next(((op, bound) for op in known if (bound := bind(op, args, kwargs)) is not None), (None, {}))
    given = {name: value for name, value in bound.items() if isinstance(value, torch.Tensor) and is_float(value)}
    if op is None:
        return
    copies = {id(value): value.clone().requires_grad_().clone() for value in given.values()}
    try:
        function(*(copies.get(id(arg), arg) for arg in args), **kwargs)
    except Exception:  # of any kind: these have no gradient, or the interpreter lacks something; `measure` says so
        return
    for name, value in given.items():
        copy = copies[id(value)]
        if (name in op.unseen) is not (copy._version == 0 and not torch.equal(copy, value)):
            yield f"{name} unseen, or not"


def _saved(op: Op, run: Run) -> set[str]:
    """What an operator saves in this run, says its row."""
    made = (save for save in op.saves if all(c.holds(run.options.get(c.option)) for c in save.when))
    return {save.slot for save in made if run.requires in save.needs}


def _returns(said: tuple[Out, ...], seen: tuple[Out, ...]) -> bool:
    """Whether outputs are as a row says. What may be a view or a copy is one of them in the few calls there are."""
    shared = ("maybe", "view", "same", "fresh")
    return len(said) == len(seen) and all(
        replace(one, of=None) == replace(other, of=None)
        or (one.kind == "maybe" and other.kind in shared and one.many == other.many)
        for one, other in zip(said, seen, strict=True)
    )


def install_torchvision() -> None:
    """Declare the two operators that `import torchvision` describes, where its wheel is for another build of torch."""
    warnings.simplefilter("ignore")
    try:
        importlib.import_module("torchvision")
    except RuntimeError:
        for name in ("nms", "qnms"):
            torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        importlib.import_module("torchvision")


def main(packages: list[str]) -> int:
    """Compare the rows of each library that is installed with its calls; 1 if any differs."""
    wrong = 0
    for package in packages or sorted({name.partition(".")[0] for name in CALLS} & PACKAGES):
        try:
            if package == "torchvision":
                install_torchvision()
            importlib.import_module(package)
        except ImportError:
            print(f"{package}: not installed; its table is of {library(package)['version']}")
            continue
        found = list(differences(package))
        print(*found, f"{package}: {len(found)} rows differ", sep="\n")
        wrong += len(found)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
