"""A callback steps the optimizer between the forward and the backward pass.

mechanism: event names dispatched by getattr on callbacks built from a table in another file
"""
import torch

from loop.engine import Engine

RAISES = "modified by an inplace operation"


def run(*names):
    torch.manual_seed(0)
    Engine(names).fit([torch.rand(4, 3) for _ in range(3)])  # SITE[a]


def bad():
    run("eager")


def good():
    run("late")
