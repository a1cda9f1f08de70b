"""torchvision 0.29.2, transforms/_functional_tensor.py:857: `minimum[eq_idxs] = 0`, of the result of amin.

Every gradient of `autocontrast` of the v1 transforms fails: an image that is learned through its augmentations (an
adversarial patch, a style).

    python -m pip install --no-deps --target /tmp/found torchvision==0.29.2 pillow numpy
    PYTHONPATH=/tmp/found python docs/found/torchvision_autocontrast_v1.py
"""

import sys

import torch
from _confirm import confirm, import_torchvision

import_torchvision()
from torchvision.transforms import functional  # noqa: E402


def loss() -> torch.Tensor:
    torch.manual_seed(0)
    return functional.autocontrast(torch.rand(3, 8, 8).requires_grad_()).sum()


if __name__ == "__main__":
    sys.exit(confirm(loss))
