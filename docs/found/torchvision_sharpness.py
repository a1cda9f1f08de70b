"""torchvision 0.29.2, transforms/v2/functional/_color.py:268: the image that conv2d kept is written in place.

Every gradient of `adjust_sharpness` of the v2 transforms fails: an image that is learned through its augmentations
(an adversarial patch, a style). The v1 function of the same name runs: that is the control.

    python -m pip install --no-deps --target /tmp/found torchvision==0.29.2 pillow numpy
    PYTHONPATH=/tmp/found python docs/found/torchvision_sharpness.py
"""

import sys

import torch
from _confirm import confirm, import_torchvision

import_torchvision()
from torchvision.transforms import functional as v1  # noqa: E402
from torchvision.transforms.v2 import functional as v2  # noqa: E402


def image() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.rand(3, 8, 8).requires_grad_()


if __name__ == "__main__":
    sys.exit(
        confirm(
            lambda: v2.adjust_sharpness(image(), 2.0).sum(),
            control=lambda: v1.adjust_sharpness(image(), 2.0).sum(),
        )
    )
