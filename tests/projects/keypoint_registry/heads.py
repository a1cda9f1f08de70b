import torch
from torch import nn

from registry import HEADS, POSTPROCESS, build, register


@register(HEADS, "regression")
class RegressionHead(nn.Module):
    """Coordinates in (-1, 1), one pair a keypoint."""

    def __init__(self, width, points, post):
        super().__init__()
        self.fc = nn.Linear(width, 2 * points)
        self.post = build(POSTPROCESS, post)

    def forward(self, x):
        coordinates = torch.sigmoid(self.fc(x)).unflatten(-1, (-1, 2))
        return self.post(coordinates)  # SITE[a]


@register(HEADS, "plain")
class PlainHead(nn.Module):
    def __init__(self, width, points, post=None):
        super().__init__()
        self.fc = nn.Linear(width, 2 * points)

    def forward(self, x):
        coordinates = self.fc(x).unflatten(-1, (-1, 2))
        coordinates -= coordinates.mean(1, keepdim=True)
        return coordinates
