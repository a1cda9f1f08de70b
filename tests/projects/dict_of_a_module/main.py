"""The layer is looked up in the `__dict__` of a module, by a name.

mechanism: module.__dict__[name]
"""
import torch
from pkg.net import Net
from pkg import acts

RAISES = "modified by an inplace operation"


def bad():
    Net()(torch.randn(2, 4)).backward()


def good():
    net = Net()
    net.act = acts.build("Plain")
    net(torch.randn(2, 4)).backward()
