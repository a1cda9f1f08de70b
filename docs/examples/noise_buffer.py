"""One noise buffer for all layers, refilled with `out=`. The product of each layer saved it."""

import torch
from torch import nn


class NoisyBroken(nn.Module):
    def __init__(self, size, depth=3):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(size, size) for _ in range(depth))

    def forward(self, x):
        noise = torch.empty(x.shape)
        for layer in self.layers:
            torch.randn(x.shape, out=noise)  # TIP105: the product of the layer before saved `noise`
            x = layer(x) * noise
        return x


class NoisyFixed(NoisyBroken):
    def forward(self, x):
        for layer in self.layers:
            x = layer(x) * torch.randn(x.shape)
        return x


def train(net):
    torch.manual_seed(0)
    net(4)(torch.randn(2, 4)).mean().backward()


if __name__ == "__main__":
    train(NoisyFixed)
    train(NoisyBroken)
