"""What the scripts of this folder share: importing torchvision, running a backward that has to fail, and comparing a
result with the one of the repaired line.

torchvision: PyPI's wheel is built for a CUDA build of its own PyTorch version. Beside another one its `_C.so` does not
load, and the import stops where it describes `nms` and `qnms`. The scripts need only Python code of torchvision (or of
libraries that import it), so where that happens the two names are declared, with no code behind them.
"""

import importlib
import inspect
import os
import re
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path

import torch

INPLACE = "modified by an inplace operation"


def import_torchvision() -> None:
    """Where it is installed: some libraries import it only then."""
    warnings.simplefilter("ignore")
    try:
        importlib.import_module("torchvision")
    except ModuleNotFoundError:
        return
    except RuntimeError as error:
        if "operator torchvision::nms does not exist" not in str(error):
            raise
        for name in ("nms", "qnms"):
            torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        importlib.import_module("torchvision")


def confirm(loss: Callable[[], torch.Tensor], control: Callable[[], torch.Tensor] | None = None) -> int:
    """The exit status: 0 where the backward of `loss()` raises autograd's error and that of `control()` does not."""
    if control is not None:
        control().backward()
    try:
        loss().backward()
    except RuntimeError as error:
        if INPLACE not in str(error):
            raise
        print("confirmed: backward raises:", detail(error))
        return 0
    print("not confirmed: backward ran")
    return 1


def detail(error: RuntimeError) -> str:
    """What autograd says behind the sentence that is the same in each of its errors."""
    found = re.search(r"which is (output .*?) instead\.", str(error))
    return found[1] if found else str(error).split(" Hint:")[0]


def confirm_silent(
    result: Callable[[], torch.Tensor],
    owner: object,
    name: str,
    line: str,
    repaired: str,
    expected: torch.Tensor | None = None,
) -> int:
    """The exit status: 0 where `result()` changes once `line` in the method `name` of the class `owner` is `repaired`.

    Before that it has to be the same twice, and afterwards `expected`, where that is given. In a library whose line is
    mended already, it is compared with what an earlier run of the script kept in the folder `FOUND_RESULTS`.
    """
    kept = (
        Path(os.environ.get("FOUND_RESULTS", ""))
        / f"{inspect.unwrap(inspect.getattr_static(owner, name)).__module__}.pt"
    )
    got = result()
    assert torch.equal(got, result()), "the result is another one each time"
    method = inspect.getattr_static(owner, name)
    source = textwrap.dedent(inspect.getsource(method))
    if line not in source and "FOUND_RESULTS" in os.environ:
        return compared(got, torch.load(kept))
    assert source.count(line) == 1, f"`{line}` is not there once"
    made: dict[str, Callable[..., Callable[..., object]]] = {}
    inside = textwrap.indent(source.replace(line, repaired), "    ")
    within = f"def method(__class__):\n{inside}\n    return {name}"  # where `super()` looks its class up
    exec(within, inspect.unwrap(method).__globals__, made)
    setattr(owner, name, made["method"](owner))
    try:
        right = result()
    finally:
        setattr(owner, name, method)
    if expected is not None:
        torch.testing.assert_close(right, expected)
    if "FOUND_RESULTS" in os.environ:
        torch.save(right, kept)
    return compared(got, right)


def compared(got: torch.Tensor, right: torch.Tensor) -> int:
    difference = (got - right).abs().max().item()
    largest = right.abs().max().item()
    if difference <= 1e-3 * largest:
        print("not confirmed: the result is right")
        return 1
    print(f"confirmed: result differs by {difference:.2g} (its largest value should be {largest:.2g})")
    return 0
