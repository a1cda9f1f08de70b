"""A helper is looked up in globals() by its name.

mechanism: globals()[name] in the module of the functions
"""
import torch

from ops import call

RAISES = "modified by an inplace operation"


def train(name):
    torch.manual_seed(0)
    w = torch.rand(4, requires_grad=True)
    call(name, w.tanh()).sum().backward()  # SITE[a]


def bad():
    train("double_in_place")


def good():
    train("double")
