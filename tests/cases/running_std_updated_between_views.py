"""A custom norm divides by a running buffer and updates it in the same forward; two views, one backward.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class RunningNorm(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.register_buffer("std", torch.ones(dim))
        self.weight = nn.Parameter(torch.ones(dim))


class BadNorm(RunningNorm):
    def forward(self, x):
        out = x / self.std * self.weight
        if self.training:
            with torch.no_grad():
                self.std.lerp_(x.std(0), 0.1)  # HAZARD saved
        return out


class GoodNorm(RunningNorm):
    def forward(self, x):
        out = x / self.std.clone() * self.weight
        if self.training:
            with torch.no_grad():
                self.std.lerp_(x.std(0), 0.1)
        return out


def train(cls):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), cls())
    a, b = net(torch.randn(6, 3)), net(torch.randn(6, 3))
    loss = (a - b).square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(BadNorm)


def good():
    return train(GoodNorm)
