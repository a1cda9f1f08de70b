"""The query of a chunked projection is scaled in place; chunk's outputs may not be.

source: written for this project, after kinds of errors that people report
"""
import torch
from torch import nn

RAISES = "is a view and is being modified inplace"


class Attention(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.scale = dim ** -0.5
        self.qkv = nn.Linear(dim, 3 * dim)


class BadAttention(Attention):
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q *= self.scale  # HAZARD view
        return (q @ k.transpose(1, 2)).softmax(-1) @ v


class GoodAttention(Attention):
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q * self.scale
        return (q @ k.transpose(1, 2)).softmax(-1) @ v


def train(cls):
    torch.manual_seed(0)
    net = cls()
    loss = net(torch.randn(2, 3, 4)).square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(BadAttention)


def good():
    return train(GoodAttention)
