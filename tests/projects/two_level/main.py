"""Norm layers register through a base class, an intermediate one stands in a third file.

mechanism: __init_subclass__ inherited over two files
"""
import torch

from norms import create

RAISES = "modified by an inplace operation"


def train(name):
    torch.manual_seed(0)
    w = torch.rand(4, requires_grad=True)
    h = torch.sigmoid(w)
    create(name)(h).sum().backward()  # SITE[a]


def bad():
    train("centred")


def good():
    train("scaled")
