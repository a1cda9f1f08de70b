"""All classes of a module are put into a table by vars().

mechanism: dict comprehension over vars(module).items() with isinstance(v, type)
"""
import torch

from zoo import build

RAISES = "modified by an inplace operation"


def train(name):
    torch.manual_seed(0)
    w = torch.rand(4, requires_grad=True)
    build(name)(w.tanh()).sum().backward()  # SITE[a]


def bad():
    train("Shift")


def good():
    train("Add")
