"""A fake-quantisation layer updates its scale buffer in place each call; the division of the last call saved it.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad


class FakeQuant(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor(0.1))

    def observe(self, x):
        peak = x.detach().abs().max() / 127
        torch.maximum(self.scale * 0.9, peak, out=self.scale)  # HAZARD saved


class BadFakeQuant(FakeQuant):
    def forward(self, x):
        self.observe(x)
        return Round.apply(x / self.scale) * self.scale


class GoodFakeQuant(FakeQuant):
    def forward(self, x):
        self.observe(x)
        scale = self.scale.clone()
        return Round.apply(x / scale) * scale


class Net(nn.Module):
    def __init__(self, cls):
        super().__init__()
        self.a, self.b, self.quant = nn.Linear(3, 4), nn.Linear(4, 2), cls()

    def forward(self, x):
        return self.quant(self.b(self.quant(self.a(x))))


def train(cls):
    torch.manual_seed(0)
    net = Net(cls)
    loss = net(torch.randn(5, 3)).square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(BadFakeQuant)


def good():
    return train(GoodFakeQuant)
