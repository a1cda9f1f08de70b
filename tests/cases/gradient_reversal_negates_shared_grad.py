"""A gradient reversal layer negates the gradient it is given in place, and a residual branch shares that gradient.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "silent"


class BadReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.weight = weight
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad.neg_().mul_(ctx.weight), None  # HAZARD silent


class GoodReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.weight = weight
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad.neg().mul_(ctx.weight), None


class Adversary(nn.Module):
    def __init__(self, reverse):
        super().__init__()
        self.reverse = reverse
        self.feat = nn.Linear(3, 4)
        self.domain = nn.Linear(3, 4)

    def forward(self, x):
        f = self.feat(x)
        return self.domain(x) + self.reverse.apply(f, 0.5)


def grads(reverse):
    torch.manual_seed(0)
    net = Adversary(reverse)
    net(torch.randn(5, 3)).square().sum().backward()
    return torch.cat([p.grad.flatten() for p in net.parameters()])


def bad():
    return grads(BadReverse), grads(GoodReverse)


def good():
    return grads(GoodReverse), grads(GoodReverse)
