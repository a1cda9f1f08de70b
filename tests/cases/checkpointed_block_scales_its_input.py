"""A checkpointed block scales its input in place, so the recomputation starts from what the forward left.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

RAISES = "modified by an inplace operation"


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)


class BadBlock(Block):
    def forward(self, x):
        x *= 0.5  # HAZARD saved
        return torch.tanh(self.lin(x)) * 3 + self.norm(x.clone())


class GoodBlock(Block):
    def forward(self, x):
        x = x * 0.5
        return torch.tanh(self.lin(x)) * 3 + self.norm(x.clone())


class Net(nn.Module):
    def __init__(self, cls):
        super().__init__()
        self.stem = nn.Linear(4, 4)
        self.block = cls()

    def forward(self, x):
        h = self.stem(x) + 1
        return checkpoint(self.block, h, use_reentrant=False)


def train(cls):
    torch.manual_seed(0)
    net = Net(cls)
    loss = net(torch.randn(3, 4)).square().sum()
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(BadBlock)


def good():
    return train(GoodBlock)
