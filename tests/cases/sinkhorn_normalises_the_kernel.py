"""Sinkhorn normalises rows and columns of the kernel in place; exp saved its result.

source: written for this project, after kinds of errors that people report
"""
import torch
from torch import nn

RAISES = "modified by an inplace operation"


def bad_sinkhorn(cost, eps=0.5, iterations=3):
    plan = torch.exp(-cost / eps)
    for _ in range(iterations):
        plan /= plan.sum(1, keepdim=True)  # HAZARD saved
        plan /= plan.sum(0, keepdim=True)  # HAZARD saved
    return plan


def good_sinkhorn(cost, eps=0.5, iterations=3):
    plan = torch.exp(-cost / eps)
    for _ in range(iterations):
        plan = plan / plan.sum(1, keepdim=True)
        plan = plan / plan.sum(0, keepdim=True)
    return plan


def train(sinkhorn):
    torch.manual_seed(0)
    net = nn.Linear(3, 2)
    a, b = net(torch.randn(4, 3)), net(torch.randn(4, 3))
    cost = torch.cdist(a, b)
    loss = (sinkhorn(cost) * cost).sum()
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(bad_sinkhorn)


def good():
    return train(good_sinkhorn)
