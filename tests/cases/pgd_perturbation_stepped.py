"""A projected gradient attack adds the signed gradient to a leaf that requires grad.

source: written for this project, after kinds of errors that people report
"""
import torch
from torch import nn

RAISES = "a leaf Variable that requires grad"


class Attack:
    def __init__(self, net, eps=0.3, alpha=0.1):
        self.net, self.eps, self.alpha = net, eps, alpha

    def gradient(self, adv, y):
        loss = nn.functional.cross_entropy(self.net(adv), y)
        return torch.autograd.grad(loss, adv)[0]


class BadAttack(Attack):
    def perturb(self, x, y):
        adv = x.clone().detach().requires_grad_(True)
        for _ in range(3):
            grad = self.gradient(adv, y)
            adv += self.alpha * grad.sign()  # HAZARD leaf
        return adv.detach()


class GoodAttack(Attack):
    def perturb(self, x, y):
        adv = x.clone().detach().requires_grad_(True)
        for _ in range(3):
            grad = self.gradient(adv, y)
            with torch.no_grad():
                adv += self.alpha * grad.sign()
        return adv.detach()


def train(cls):
    torch.manual_seed(0)
    net = nn.Linear(3, 2)
    x, y = torch.randn(4, 3), torch.tensor([0, 1, 0, 1])
    adv = cls(net).perturb(x, y)
    loss = nn.functional.cross_entropy(net(adv), y)
    loss.backward()
    return [loss.detach(), adv, *(p.grad for p in net.parameters())]


def bad():
    return train(BadAttack)


def good():
    return train(GoodAttack)
