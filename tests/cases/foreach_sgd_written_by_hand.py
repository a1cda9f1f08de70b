"""A hand-written foreach optimizer updates leaves with grad mode on.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "a leaf Variable that requires grad"


class ForeachSGD:
    def __init__(self, params, lr=0.1, momentum=0.9):
        self.params = list(params)
        self.lr, self.momentum = lr, momentum
        self.velocity = [torch.zeros_like(p) for p in self.params]


class BadSGD(ForeachSGD):
    def step(self):
        grads = [p.grad for p in self.params]
        torch._foreach_mul_(self.velocity, self.momentum)
        torch._foreach_add_(self.velocity, grads)
        torch._foreach_add_(self.params, self.velocity, alpha=-self.lr)  # HAZARD leaf


class GoodSGD(ForeachSGD):
    @torch.no_grad()
    def step(self):
        grads = [p.grad for p in self.params]
        torch._foreach_mul_(self.velocity, self.momentum)
        torch._foreach_add_(self.velocity, grads)
        torch._foreach_add_(self.params, self.velocity, alpha=-self.lr)


def train(cls):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True), nn.Linear(4, 1))
    opt = cls(net.parameters())
    for _ in range(2):
        net.zero_grad()
        net(torch.ones(2, 3)).square().mean().backward()
        opt.step()
    return [p.detach() for p in net.parameters()]


def bad():
    return train(BadSGD)


def good():
    return train(GoodSGD)
