"""One noise buffer for all layers, refilled with `out=`: each product keeps the buffer as it was.

The good version draws a tensor a layer. `out=` into a buffer that nothing keeps, under no_grad, is legal beside it.

source: written for this project
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class NoisyStack(nn.Module):
    def __init__(self, size, depth=3):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(size, size) for _ in range(depth))

    def forward(self, x):
        noise = torch.empty(x.shape)
        for layer in self.layers:
            torch.randn(x.shape, out=noise)  # HAZARD saved
            x = layer(x) * noise
        return x


class FreshNoise(NoisyStack):
    def forward(self, x):
        total = torch.empty(x.shape)
        for layer in self.layers:
            x = layer(x) * torch.randn(x.shape)
            with torch.no_grad():
                torch.abs(x, out=total)
        return x


def train(net):
    torch.manual_seed(0)
    net(4)(torch.randn(2, 4)).sum().backward()


def bad():
    train(NoisyStack)


def good():
    train(FreshNoise)
