"""nn.Dropout(inplace=True) on a gate that tanh keeps.

The good version drops in place what a linear layer returns, which nobody keeps.

source: written for this project
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class GatedUnit(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.value, self.gate = nn.Linear(size, size), nn.Linear(size, size)
        self.drop = nn.Dropout(0.5, inplace=True)

    def forward(self, x):
        gate = torch.tanh(self.gate(x))
        gate = self.drop(gate)  # HAZARD saved
        return gate * self.value(x)


class GatedUnitFixed(GatedUnit):
    def forward(self, x):
        value = self.drop(self.value(x))
        return torch.tanh(self.gate(x)) * value


def train(unit):
    torch.manual_seed(0)
    unit(4)(torch.randn(2, 4)).sum().backward()


def bad():
    train(GatedUnit)


def good():
    train(GatedUnitFixed)
