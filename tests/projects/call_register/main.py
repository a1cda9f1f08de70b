"""Functions are registered by calls of a function at the end of their module.

mechanism: register("name", function) as a statement, function and table in another file
"""
import torch

from pool import pool

RAISES = "modified by an inplace operation"


def train(name):
    torch.manual_seed(0)
    w = torch.rand(4, 3, requires_grad=True)
    pool(name, w.exp()).sum().backward()  # SITE[a]


def bad():
    train("max")


def good():
    train("mean")
