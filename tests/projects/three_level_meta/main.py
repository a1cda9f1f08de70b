"""A probe is two classes below the one with the metaclass, each in a file of its own.

mechanism: heirs of heirs of a class with a metaclass
"""
import torch

from lab.bench import measure

RAISES = "modified by an inplace operation"


def bad():
    measure(torch.ones(3, requires_grad=True), torch.rand(3) + 2, "SaturatingProbe").backward()


def good():
    measure(torch.ones(3, requires_grad=True), torch.rand(3), "ScaledProbe").backward()
