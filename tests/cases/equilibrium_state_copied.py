"""A fixed-point layer copies the next iterate into the state that the weight's product saved.

source: written for this project, after kinds of errors that people report
"""
import torch
from torch import nn

RAISES = "modified by an inplace operation"


class Equilibrium(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.w, self.u = nn.Linear(dim, dim, bias=False), nn.Linear(3, dim)

    def update(self, z, x):
        return torch.tanh(self.w(z) + self.u(x))


class BadEquilibrium(Equilibrium):
    def forward(self, x, tol=1e-3):
        z = torch.zeros(len(x), 4)
        for _ in range(6):
            new = self.update(z, x)
            done = (new - z).norm() < tol
            z.copy_(new)  # HAZARD saved
            if done:
                break
        return z


class GoodEquilibrium(Equilibrium):
    def forward(self, x, tol=1e-3):
        z = torch.zeros(len(x), 4)
        for _ in range(6):
            new = self.update(z, x)
            done = (new - z).norm() < tol
            z = new
            if done:
                break
        return z


def train(cls):
    torch.manual_seed(0)
    net = cls()
    loss = net(torch.randn(2, 3)).square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(BadEquilibrium)


def good():
    return train(GoodEquilibrium)
