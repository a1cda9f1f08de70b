"""A parametrization makes its raw weight upper triangular in place; the raw weight is a leaf.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn
from torch.nn.utils import parametrize

RAISES = "a leaf Variable that requires grad"


class BadSymmetric(nn.Module):
    def forward(self, raw):
        raw.triu_()  # HAZARD leaf
        return raw + raw.triu(1).transpose(-1, -2)


class GoodSymmetric(nn.Module):
    def forward(self, raw):
        raw = raw.triu()
        return raw + raw.triu(1).transpose(-1, -2)


def train(cls):
    torch.manual_seed(0)
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", cls())
    loss = layer(torch.randn(2, 3)).square().sum()
    loss.backward()
    return [loss.detach(), *(p.grad for p in layer.parameters())]


def bad():
    return train(BadSymmetric)


def good():
    return train(GoodSymmetric)
