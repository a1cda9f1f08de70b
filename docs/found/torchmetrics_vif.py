"""torchmetrics 1.9.0, functional/image/vif.py:70: `g[mask] = 0` after `g * sigma_target_preds`, which kept `g`.

Every gradient of visual information fidelity fails, also where the mask selects nothing. The metric declares
`is_differentiable = True`.

    python -m pip install --no-deps --target /tmp/found torchmetrics==1.9.0 lightning-utilities packaging numpy
    PYTHONPATH=/tmp/found python docs/found/torchmetrics_vif.py
"""

import sys

import torch
from _confirm import confirm, import_torchvision

import_torchvision()
from torchmetrics.image import VisualInformationFidelity  # noqa: E402


def loss() -> torch.Tensor:
    assert VisualInformationFidelity.is_differentiable
    torch.manual_seed(0)
    restored = torch.rand(1, 3, 64, 64, requires_grad=True)
    return 1 - VisualInformationFidelity()(restored, torch.rand(1, 3, 64, 64))


if __name__ == "__main__":
    sys.exit(confirm(loss))
