"""A data-parallel wrapper copies buffers before each forward; two forwards share one backward.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.register_buffer("gain", torch.full((4,), 0.5))

    def forward(self, x):
        return self.lin(x) * self.gain


class BadReplica(nn.Module):
    def __init__(self, module, source):
        super().__init__()
        self.module, self.source = module, source

    def forward(self, x):
        with torch.no_grad():
            self.module.gain.copy_(self.source)  # HAZARD saved
        return self.module(x)


class GoodReplica(nn.Module):
    def __init__(self, module, source):
        super().__init__()
        self.module, self.source = module, source

    def forward(self, x):
        self.module.gain = self.source.clone()
        return self.module(x)


def train(cls):
    torch.manual_seed(0)
    net = cls(Scaled(), torch.full((4,), 2.0))
    anchor, positive = net(torch.randn(3, 4)), net(torch.randn(3, 4))
    loss = (anchor - positive).square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(BadReplica)


def good():
    return train(GoodReplica)
