"""torchvision 0.29.2, transforms/v2/functional/_meta.py:317: columns that `pow` kept are written.

Every gradient of `convert_bounding_box_format` from eight corners (XYXYXYXY) to a box with an angle (XYWHR) fails:
a detector that predicts corners and has its loss on the angle. The way back runs: that is the control.

    python -m pip install --no-deps --target /tmp/found torchvision==0.29.2 pillow numpy
    PYTHONPATH=/tmp/found python docs/found/torchvision_rotated_boxes.py
"""

import sys

import torch
from _confirm import confirm, import_torchvision

import_torchvision()
from torchvision.transforms.v2 import functional  # noqa: E402
from torchvision.tv_tensors import BoundingBoxFormat as Format  # noqa: E402


def convert(values: list[float], old: Format, new: Format) -> torch.Tensor:
    boxes = torch.tensor([values], dtype=torch.float32, requires_grad=True)
    return functional.convert_bounding_box_format(boxes, old_format=old, new_format=new).sum()


if __name__ == "__main__":
    sys.exit(
        confirm(
            lambda: convert([10, 10, 14, 7, 17, 11, 13, 14], Format.XYXYXYXY, Format.XYWHR),
            control=lambda: convert([10, 10, 5, 5, 36.87], Format.XYWHR, Format.XYXYXYXY),
        )
    )
