"""The states of all layers are made with `[h] * layers`, so an in-place update of one is an update of all.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "silent"


class Stack(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.inputs = nn.ModuleList(nn.Linear(3, 3) for _ in range(layers))


class BadStack(Stack):
    def forward(self, xs):
        states = [torch.zeros(xs.size(1), 3)] * len(self.inputs)
        for x in xs:
            for i, layer in enumerate(self.inputs):
                states[i] += layer(x)  # HAZARD silent
                x = x + states[i]
        return states[-1]


class GoodStack(Stack):
    def forward(self, xs):
        states = [torch.zeros(xs.size(1), 3) for _ in self.inputs]
        for x in xs:
            for i, layer in enumerate(self.inputs):
                states[i] = states[i] + layer(x)
                x = x + states[i]
        return states[-1]


def result(cls):
    torch.manual_seed(0)
    return cls()(torch.randn(3, 2, 3)).detach()


def bad():
    return result(BadStack), result(GoodStack)


def good():
    return result(GoodStack), result(GoodStack)
