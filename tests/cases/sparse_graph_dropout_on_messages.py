"""Node messages are dropped in place after a sparse product with learned edge weights saved them.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"

EDGES = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])


class Layer(nn.Module):
    def __init__(self, dim=3):
        super().__init__()
        self.lin = nn.Linear(dim, dim)
        self.edge = nn.Parameter(torch.rand(EDGES.size(1)))

    def propagate(self, h):
        adjacency = torch.sparse_coo_tensor(EDGES, self.edge, (4, 4))
        return torch.sparse.mm(adjacency, h)


class BadLayer(Layer):
    def forward(self, x, keep):
        h = self.lin(x)
        gathered = self.propagate(h)
        h.mul_(keep)  # HAZARD saved
        return gathered + h


class GoodLayer(Layer):
    def forward(self, x, keep):
        h = self.lin(x)
        gathered = self.propagate(h)
        h = h.mul(keep)
        return gathered + h


def train(cls):
    torch.manual_seed(0)
    net = cls()
    keep = torch.tensor([[1.0], [0.0], [1.0], [1.0]])
    loss = net(torch.randn(4, 3), keep).square().sum()
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(BadLayer)


def good():
    return train(GoodLayer)
