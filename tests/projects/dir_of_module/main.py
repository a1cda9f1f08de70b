"""Rules of integration are all functions of a module.

mechanism: dir(module) and getattr(module, name)
"""
import torch

from sky.flux import flux

RAISES = "modified by an inplace operation"


def bad():
    flux(torch.zeros(5, requires_grad=True)).backward()


def good():
    flux(torch.zeros(5, requires_grad=True), "flat").backward()
