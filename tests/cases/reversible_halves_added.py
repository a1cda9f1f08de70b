"""A reversible block adds to the halves of a chunk in place.

source: written for this project, after kinds of errors that people report
"""
import torch
from torch import nn

RAISES = "is a view and"


class Reversible(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.f, self.g = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.stem = nn.Linear(3, 2 * dim)


class BadReversible(Reversible):
    def forward(self, x):
        a, b = self.stem(x).chunk(2, dim=1)
        a += self.f(b)  # HAZARD view
        b += self.g(a)  # HAZARD view
        return torch.cat([a, b], 1)


class GoodReversible(Reversible):
    def forward(self, x):
        a, b = self.stem(x).chunk(2, dim=1)
        a = a + self.f(b)
        b = b + self.g(a)
        return torch.cat([a, b], 1)


def train(cls):
    torch.manual_seed(0)
    net = cls()
    loss = net(torch.randn(2, 3)).square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(BadReversible)


def good():
    return train(GoodReversible)
