"""mechanism: context manager class of another file halves the weight on leaving, before backward"""
import torch
from torch import nn

from lamp import Halved

RAISES = "modified by an inplace operation"


def bad():
    net = nn.Linear(3, 3)
    x = torch.randn(2, 3, requires_grad=True)
    with Halved(net):  # SITE[a]
        loss = net(x).pow(2).sum()
    loss.backward()


def good():
    net = nn.Linear(3, 3)
    x = torch.randn(2, 3, requires_grad=True)
    with Halved(net):
        loss = net(x).pow(2).sum()
        loss.backward()
