"""A hand-written spectral norm updates its singular vectors in place on each of two forwards.

source: written for this project, after kinds of errors that people report
"""

import torch
import torch.nn.functional as F
from torch import nn

RAISES = "modified by an inplace operation"


class SNLinear(nn.Linear):
    def __init__(self, a, b):
        super().__init__(a, b)
        self.register_buffer("u", F.normalize(torch.ones(b), dim=0))
        self.register_buffer("v", F.normalize(torch.ones(a), dim=0))


class BadSN(SNLinear):
    def normalised(self):
        with torch.no_grad():
            self.v.copy_(F.normalize(self.weight.t() @ self.u, dim=0))  # HAZARD saved
            self.u.copy_(F.normalize(self.weight @ self.v, dim=0))  # HAZARD saved
        sigma = torch.dot(self.u, torch.mv(self.weight, self.v))
        return self.weight / sigma

    def forward(self, x):
        return F.linear(x, self.normalised(), self.bias)


class GoodSN(SNLinear):
    def normalised(self):
        with torch.no_grad():
            self.v.copy_(F.normalize(self.weight.t() @ self.u, dim=0))
            self.u.copy_(F.normalize(self.weight @ self.v, dim=0))
        u, v = self.u.clone(), self.v.clone()
        sigma = torch.dot(u, torch.mv(self.weight, v))
        return self.weight / sigma

    def forward(self, x):
        return F.linear(x, self.normalised(), self.bias)


def train(cls):
    torch.manual_seed(0)
    disc = cls(4, 3)
    real, fake = disc(torch.randn(5, 4)), disc(torch.randn(5, 4))
    loss = F.relu(1 - real).mean() + F.relu(1 + fake).mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in disc.parameters())]


def bad():
    return train(BadSN)


def good():
    return train(GoodSN)
