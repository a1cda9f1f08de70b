"""Poolers are put into a table of another file.

mechanism: __init_subclass__ fills a table that its file imports
"""
import torch

from ris.encoder import Encoder

RAISES = "modified by an inplace operation"


def run(name):
    torch.manual_seed(0)
    mask = torch.ones(2, 3, 1)
    mask[:, 2] = 0
    Encoder(name)(torch.randn(2, 3, 5), mask).sum().backward()


def bad():
    run("zeroed")


def good():
    run("mean")
