"""A forward hook multiplies a sigmoid's output in place to steer it.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


def bad_steer(module, args, output):
    output.mul_(1.5)  # HAZARD saved


def good_steer(module, args, output):
    return output.mul(1.5)


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 1))


def train(hook):
    net = build()
    handle = net[1].register_forward_hook(hook)
    loss = net(torch.randn(5, 3)).square().mean()
    handle.remove()
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    net = build()
    handle = net[1].register_forward_hook(bad_steer)
    loss = net(torch.randn(5, 3)).square().mean()
    handle.remove()
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def good():
    return train(good_steer)
