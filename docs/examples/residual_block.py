"""A residual block that adds its shortcut after an in-place ReLU, and the usual order, which is fine."""

import torch
import torch.nn.functional as F
from torch import nn


class BlockBroken(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        identity = x
        out = self.norm(self.conv(x))
        out = F.relu(out, inplace=True)
        out += identity  # TIP103: relu saved its result
        return out


class BlockFixed(BlockBroken):
    def forward(self, x):
        identity = x
        out = self.norm(self.conv(x))
        out += identity  # batch norm saved its input, not its result
        return F.relu(out, inplace=True)


def train(block):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), block(8), block(8), nn.AdaptiveAvgPool2d(1))
    model(torch.randn(2, 3, 16, 16)).mean().backward()


if __name__ == "__main__":
    train(BlockFixed)
    train(BlockBroken)
