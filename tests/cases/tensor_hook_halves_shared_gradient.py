"""A hook on an activation halves its gradient in place; the other summand's gradient is the same memory.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "silent"


class TwoTowers(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(3, 2), nn.Linear(3, 2)


class BadTowers(TwoTowers):
    def forward(self, x):
        a, b = self.left(x), self.right(x)
        b.register_hook(lambda g: g.mul_(0.5))  # HAZARD silent
        return a + b


class GoodTowers(TwoTowers):
    def forward(self, x):
        a, b = self.left(x), self.right(x)
        b.register_hook(lambda g: g * 0.5)
        return a + b


def grads(cls):
    torch.manual_seed(0)
    net = cls()
    net(torch.randn(4, 3)).square().sum().backward()
    return torch.cat([p.grad.flatten() for p in net.parameters()])


def bad():
    return grads(BadTowers), grads(GoodTowers)


def good():
    return grads(GoodTowers), grads(GoodTowers)
