"""A star import leaves out what __all__ does not list.

mechanism: globals()[name] with two modules that define one name
"""
import torch

from opt.net import loss


def good():
    loss(torch.ones(3, requires_grad=True), torch.rand(3)).backward()
