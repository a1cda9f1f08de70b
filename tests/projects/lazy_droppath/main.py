"""Stochastic depth from a lazily loaded subpackage scales its argument in place; the gate's product had saved it.

mechanism: module __getattr__ with a table, star import with __all__ behind it
"""
import torch

from nets import Block

RAISES = "modified by an inplace operation"


def run(inplace):
    torch.manual_seed(0)
    Block(4, inplace)(torch.randn(3, 4)).sum().backward()


def bad():
    run(True)


def good():
    run(False)
