"""A mixture-of-experts router zeroes gates beyond capacity and divides by their sum, all in place on softmax's result.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class Router(nn.Module):
    def __init__(self, dim=4, experts=3, k=2):
        super().__init__()
        self.k = k
        self.gate = nn.Linear(dim, experts)
        self.experts = nn.ModuleList(nn.Linear(dim, dim) for _ in range(experts))

    def forward(self, x):
        weights, chosen = self.top_weights(x)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            token, slot = torch.where(chosen == e)
            out.index_add_(0, token, expert(x[token]) * weights[token, slot].unsqueeze(1))
        return out


class BadRouter(Router):
    def top_weights(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(self.k)
        weights /= weights.sum(-1, keepdim=True)
        energy = weights.square().sum(-1, keepdim=True)
        weights *= energy.rsqrt()  # HAZARD saved
        return weights, chosen


class GoodRouter(Router):
    def top_weights(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(self.k)
        weights = weights / weights.sum(-1, keepdim=True)
        energy = weights.square().sum(-1, keepdim=True)
        weights = weights * energy.rsqrt()
        return weights, chosen


def train(cls):
    torch.manual_seed(0)
    net = cls()
    loss = net(torch.randn(5, 4)).square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(BadRouter)


def good():
    return train(GoodRouter)
