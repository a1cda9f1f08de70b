"""Two factories are bound to two modules with the same names.

mechanism: functools.partial(make, module)
"""
import torch

from kit.net import Net


def good():
    torch.manual_seed(0)
    net = Net()
    net.predict(torch.rand(2, 3))
    net(torch.rand(2, 3))[:, 0].sum().backward()
