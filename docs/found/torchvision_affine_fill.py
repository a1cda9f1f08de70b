"""torchvision 0.28.0, transforms/v2/functional/_geometry.py:873: `float_img.sub_(fill_img).mul_(mask).add_(fill_img)`.

`mul_` has kept the mask, which `tensor_split` made a part of the memory of the image, and `add_` writes to that next.
Every gradient through `affine` of a float image with `fill` and bilinear interpolation fails. Without
`fill` it runs: that is the control.

    python -m pip install --no-deps --target /tmp/found torchvision==0.28.0 pillow numpy
    PYTHONPATH=/tmp/found python docs/found/torchvision_affine_fill.py
"""

import sys

import torch
from _confirm import confirm, import_torchvision

import_torchvision()
from torchvision.transforms import InterpolationMode  # noqa: E402
from torchvision.transforms.v2 import functional  # noqa: E402


def turned(fill: list[float] | None) -> torch.Tensor:
    torch.manual_seed(0)
    image = torch.rand(1, 3, 8, 8, requires_grad=True)
    mode = InterpolationMode.BILINEAR
    return functional.affine(image, 10.0, [1, 1], 1.0, [0.0, 0.0], interpolation=mode, fill=fill).sum()


if __name__ == "__main__":
    sys.exit(confirm(lambda: turned([0.5, 0.5, 0.5]), control=lambda: turned(None)))
