"""All modules of a folder are imported by pkgutil, each registers by a decorator.

mechanism: pkgutil.iter_modules over __path__, decorator registry
"""
import torch

from heads import HEADS

RAISES = "modified by an inplace operation"


def train(name):
    torch.manual_seed(0)
    w = torch.rand(4, requires_grad=True)
    HEADS[name](w.exp()).sum().backward()  # SITE[a]


def bad():
    train("floor")


def good():
    train("soft")
