"""What the scripts of this folder share: importing torchvision, and running a backward that has to fail.

torchvision: PyPI's wheel is built for a CUDA build of its own PyTorch version. Beside another one its `_C.so` does not
load, and the import stops where it describes `nms` and `qnms`. The scripts need only Python code of torchvision (or of
libraries that import it), so where that happens the two names are declared, with no code behind them.
"""

import importlib
import warnings
from collections.abc import Callable

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
        print("confirmed:", str(error).split(" Hint:")[0])
        return 0
    print("not confirmed: backward ran")
    return 1
