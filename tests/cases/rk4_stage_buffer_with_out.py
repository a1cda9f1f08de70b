"""A Runge-Kutta step writes its stages to a buffer with out=, which autograd refuses.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "don't support automatic differentiation"


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, t, y):
        return torch.tanh(self.lin(y)) - 0.1 * t * y


class BadSolver:
    def __init__(self, field):
        self.field = field

    def step(self, t, y, h):
        stage = torch.empty_like(y)
        k1 = self.field(t, y)
        torch.add(y, k1, alpha=h / 2, out=stage)  # HAZARD other
        k2 = self.field(t + h / 2, stage)
        return y + h * k2


class GoodSolver:
    def __init__(self, field):
        self.field = field

    def step(self, t, y, h):
        k1 = self.field(t, y)
        stage = torch.add(y, k1, alpha=h / 2)
        k2 = self.field(t + h / 2, stage)
        return y + h * k2


def integrate(solver, y, n=3):
    for i in range(n):
        y = solver.step(i / n, y, 1 / n)
    return y


def train(cls):
    torch.manual_seed(0)
    field = Field()
    loss = integrate(cls(field), torch.randn(2, 3)).square().sum()
    loss.backward()
    return [loss.detach(), *(p.grad for p in field.parameters())]


def bad():
    return train(BadSolver)


def good():
    return train(GoodSolver)
