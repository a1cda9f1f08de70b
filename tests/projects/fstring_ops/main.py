"""A package loads its operators by a loop over their names; one of them overwrites the tanh it is given.

mechanism: importlib.import_module(f"{__package__}.{name}") over a literal tuple, functions in a dict
"""
import torch

from ops.net import Net

RAISES = "modified by an inplace operation"


def run(op):
    torch.manual_seed(0)
    net = Net(4, op)
    net(torch.rand(3, 4)).mean().backward()  # SITE[a]


def bad():
    run("shift")


def good():
    run("scale")
