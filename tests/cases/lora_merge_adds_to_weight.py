"""Merging a low-rank adapter adds to the base weight with grad mode on.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "a leaf Variable that requires grad"


class LoRALinear(nn.Module):
    def __init__(self, base, rank=2, scaling=0.5):
        super().__init__()
        self.base, self.scaling, self.merged = base, scaling, False
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)

    def delta(self):
        return self.up.weight @ self.down.weight * self.scaling

    def forward(self, x):
        out = self.base(x)
        if not self.merged:
            out += self.up(self.down(x)) * self.scaling
        return out


class BadLoRA(LoRALinear):
    def merge(self):
        if not self.merged:
            self.base.weight += self.delta()  # HAZARD leaf
            self.merged = True


class GoodLoRA(LoRALinear):
    @torch.no_grad()
    def merge(self):
        if not self.merged:
            self.base.weight += self.delta()
            self.merged = True


def train(cls):
    torch.manual_seed(0)
    layer = cls(nn.Linear(4, 3))
    x = torch.randn(2, 4)
    layer(x).square().sum().backward()
    grads = [p.grad.clone() for p in layer.parameters()]
    layer.merge()
    return [layer(x).detach(), *grads]


def bad():
    return train(BadLoRA)


def good():
    return train(GoodLoRA)
