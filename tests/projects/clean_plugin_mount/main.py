"""The step that works in place comes where nothing was saved.

mechanism: a metaclass that fills a dictionary in the base class
"""
import torch

from mnt.net import Net


def good():
    torch.manual_seed(0)
    Net()(torch.randn(3, 2)).sum().backward()
