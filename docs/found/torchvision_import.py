"""Imports torchvision, also beside a PyTorch that its compiled operators were not built for.

PyPI's torchvision is built for a CUDA build of its own PyTorch version. Beside another one its `_C.so` does not load,
and the import stops where it describes `nms` and `qnms`. The scripts here need only Python code of torchvision, so
where that happens this declares the two names (with no code behind them) and imports again.
"""

import torch

try:
    import torchvision
except RuntimeError as error:
    if "operator torchvision::nms does not exist" not in str(error):
        raise
    for name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision

__all__ = ["torchvision"]
