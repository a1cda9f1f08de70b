"""A coupling layer overwrites the half that it transforms through a slice of its input.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class Coupling(nn.Module):
    def __init__(self, dim=4, flip=False):
        super().__init__()
        self.half = dim // 2
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(self.half, 8), nn.Tanh(), nn.Linear(8, 2 * self.half))

    def params(self, cond):
        shift, log_scale = self.net(cond).chunk(2, dim=1)
        return shift, torch.tanh(log_scale)


class BadCoupling(Coupling):
    def forward(self, z):
        z = z.flip(1) if self.flip else z.clone()
        d = self.half
        shift, log_scale = self.params(z[:, d:])
        z[:, :d] = z[:, :d] * log_scale.exp() + shift  # HAZARD saved
        return z, log_scale.sum(1)


class GoodCoupling(Coupling):
    def forward(self, z):
        z = z.flip(1) if self.flip else z.clone()
        d = self.half
        shift, log_scale = self.params(z[:, d:])
        return torch.cat([z[:, :d] * log_scale.exp() + shift, z[:, d:]], 1), log_scale.sum(1)


def train(cls):
    torch.manual_seed(0)
    layers = nn.ModuleList([cls(), cls(flip=True)])
    z = torch.randn(5, 4)
    logdet = torch.zeros(5)
    for layer in layers:
        z, ld = layer(z)
        logdet += ld
    loss = (0.5 * z.square().sum(1) - logdet).mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in layers.parameters())]


def bad():
    return train(BadCoupling)


def good():
    return train(GoodCoupling)
