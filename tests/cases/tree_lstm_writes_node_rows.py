"""A tree network fills one matrix of node states row by row and reads children from it.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"

CHILDREN = {3: (0, 1), 4: (2, 3)}


class Tree(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.dim = dim
        self.leaf = nn.Linear(3, dim)
        self.merge = nn.Bilinear(dim, dim, dim)


class BadTree(Tree):
    def forward(self, leaves):
        states = torch.zeros(5, self.dim)
        states[:3] = self.leaf(leaves)
        for node, (left, right) in CHILDREN.items():
            states[node] = torch.tanh(self.merge(states[left], states[right]))  # HAZARD saved
        return states[-1]


class GoodTree(Tree):
    def forward(self, leaves):
        states = dict(enumerate(self.leaf(leaves)))
        for node, (left, right) in CHILDREN.items():
            states[node] = torch.tanh(self.merge(states[left], states[right]))
        return states[4]


def train(cls):
    torch.manual_seed(0)
    net = cls()
    loss = net(torch.randn(3, 3)).sum()
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(BadTree)


def good():
    return train(GoodTree)
