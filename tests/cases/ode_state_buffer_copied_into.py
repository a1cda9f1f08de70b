"""An explicit Euler solver copies the new state into one buffer that the vector field's layers saved.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class Dynamics(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 16)
        self.outer = nn.Linear(16, 4)

    def forward(self, y):
        return self.outer(nn.functional.softplus(self.inner(y)))


def bad_euler(f, y0, dt, steps):
    y = y0.clone()
    for _ in range(steps):
        dy = f(y)
        y.copy_(y + dt * dy)  # HAZARD saved
    return y


def good_euler(f, y0, dt, steps):
    y = y0.clone()
    for _ in range(steps):
        dy = f(y)
        y = y + dt * dy
    return y


def train(euler):
    torch.manual_seed(0)
    f = Dynamics()
    end = euler(f, torch.randn(3, 4), 0.1, 5)
    loss = (end - 1).abs().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in f.parameters())]


def bad():
    return train(bad_euler)


def good():
    return train(good_euler)
