"""Losses are found by Base.__subclasses__().

mechanism: dict comprehension over __subclasses__ in a factory of another file
"""
import torch

from losses.factory import make

RAISES = "modified by an inplace operation"


def train(name):
    torch.manual_seed(0)
    w = torch.rand(4, requires_grad=True)
    p = torch.softmax(w, 0)
    make(name)(p, torch.ones(4)).backward()  # SITE[a]


def bad():
    train("Gap")


def good():
    train("Square")
