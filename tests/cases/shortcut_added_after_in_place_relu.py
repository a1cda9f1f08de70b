"""A residual block whose last ReLU, in place or not, is followed by an in-place addition of the shortcut.

relu keeps its result. After convolution and batch norm, which keep their inputs only, the other order is legal.

source: https://github.com/pytorch/vision/issues/807 (which order is safe)
"""

import torch
import torch.nn.functional as F
from torch import nn

RAISES = "modified by an inplace operation"


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        identity = x
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = F.relu(self.bn2(self.conv2(out)), inplace=True)
        out += identity  # HAZARD saved
        return out


class AddThenRelu(Block):
    def forward(self, x):
        identity = x
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.bn2(self.conv2(out))
        out += identity
        out = F.relu(out, inplace=True)
        return out


def train(block):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), block(4), block(4), nn.AdaptiveAvgPool2d(1))
    model(torch.randn(2, 1, 8, 8)).sum().backward()


def bad():
    train(Block)


def good():
    train(AddThenRelu)
