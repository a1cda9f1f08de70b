"""The losses are added up in place and the sum is differentiated each step: the second backward meets freed graphs.

source: written for this project, after kinds of errors that people report
"""
import torch
from torch import nn

RAISES = "backward through the graph a second time"


def setup():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    return net, torch.randn(3, 5, 3)


def bad():
    net, batches = setup()
    total = torch.zeros(())
    for x in batches:
        total += net(x).square().mean()  # HAZARD other
        total.backward()
    return [p.grad for p in net.parameters()]


def good():
    net, batches = setup()
    total = torch.zeros(())
    for x in batches:
        loss = net(x).square().mean()
        total += loss.detach()
        loss.backward()
    return [p.grad for p in net.parameters()]
