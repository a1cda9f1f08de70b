"""torchmetrics 1.9.0, functional/shape/procrustes.py:45: `/=` on the point cloud whose norm was taken of it.

Every gradient of `procrustes_disparity` fails. The metric of that name declares `is_differentiable = False`; the
function, called here, has no such mark.

    python -m pip install --no-deps --target /tmp/found torchmetrics==1.9.0 lightning-utilities packaging numpy
    PYTHONPATH=/tmp/found python docs/found/torchmetrics_procrustes.py
"""

import sys

import torch
from _confirm import confirm, import_torchvision

import_torchvision()
from torchmetrics.functional.shape import procrustes_disparity  # noqa: E402


def loss() -> torch.Tensor:
    torch.manual_seed(0)
    predicted = torch.randn(2, 10, 3, requires_grad=True)
    return procrustes_disparity(predicted, torch.randn(2, 10, 3)).sum()


if __name__ == "__main__":
    sys.exit(confirm(loss))
