"""A geometry helper converts xywh to xyxy inside its argument; applying it for two views compounds the change.

source: https://github.com/kornia/kornia/issues/4011
"""

import torch

RAISES = "silent"


def apply_affine(matrix, points):
    homogeneous = torch.cat([points, torch.ones_like(points[..., :1])], dim=-1)
    out = homogeneous @ matrix.transpose(-1, -2)
    return out[..., :2] / out[..., 2:]


def transform_bbox(matrix, boxes, mode="xyxy"):
    if mode not in ("xyxy", "xywh"):
        raise ValueError(mode)
    if mode == "xywh":
        boxes[..., 2] = boxes[..., 0] + boxes[..., 2]  # HAZARD silent
        boxes[..., 3] = boxes[..., 1] + boxes[..., 3]  # HAZARD silent
    corners = apply_affine(matrix[:, None], boxes.reshape(boxes.shape[0], -1, 2, 2))
    result = corners.flatten(2)
    if mode == "xywh":
        result[..., 2:] -= result[..., :2].clone()
    return result


def transform_bbox_fixed(matrix, boxes, mode="xyxy"):
    if mode not in ("xyxy", "xywh"):
        raise ValueError(mode)
    if mode == "xywh":
        boxes = boxes.clone()
        boxes[..., 2] = boxes[..., 0] + boxes[..., 2]
        boxes[..., 3] = boxes[..., 1] + boxes[..., 3]
    corners = apply_affine(matrix[:, None], boxes.reshape(boxes.shape[0], -1, 2, 2))
    result = corners.flatten(2)
    if mode == "xywh":
        result[..., 2:] -= result[..., :2].clone()
    return result


class TwoViewAugmenter:
    def __init__(self, fn, scales=(1.0, 2.0)):
        self.fn, self.scales = fn, scales

    def matrices(self, n):
        for s in self.scales:
            m = torch.eye(3).repeat(n, 1, 1)
            m[:, :2, :2] *= s
            m[:, 0, 2] += 3.0
            yield m

    def __call__(self, sample):
        boxes = sample["boxes"]
        return [self.fn(m, boxes, mode="xywh") for m in self.matrices(len(boxes))]


def augment(fn):
    torch.manual_seed(0)
    boxes = torch.rand(2, 3, 4) * 10
    weak, strong = TwoViewAugmenter(fn)({"boxes": boxes})
    return strong[..., 2:], weak[..., 2:] * 2


def bad():
    return augment(transform_bbox)


def good():
    return augment(transform_bbox_fixed)
