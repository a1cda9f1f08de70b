"""Initialisers are exported lazily; one of them fills a parameter outside no_grad.

mechanism: module __getattr__ over a table of names, initialiser passed as an argument
"""
import torch
from torch import nn

import initkit

RAISES = "a leaf Variable that requires grad"


def build(init):
    torch.manual_seed(0)
    layer = nn.Linear(3, 2)
    init(layer)  # SITE[a]
    layer(torch.rand(1, 3)).sum().backward()


def bad():
    build(initkit.diagonal)


def good():
    build(initkit.uniform)
