"""A metaclass collects the activations.

mechanism: metaclass __new__ that puts classes into a dict
"""
import torch

from acts import build

RAISES = "modified by an inplace operation"


def train(name):
    torch.manual_seed(0)
    w = torch.rand(4, requires_grad=True)
    build(name)(torch.exp(w)).sum().backward()  # SITE[a]


def bad():
    train("Clip")


def good():
    train("Soft")
