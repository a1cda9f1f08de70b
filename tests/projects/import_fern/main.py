"""mechanism: importlib.import_module with a literal"""
import importlib

import torch

RAISES = "modified by an inplace operation"

fronds = importlib.import_module("fern.fronds")


def bad():
    x = torch.randn(4, requires_grad=True)
    fronds.curl(x.exp()).sum().backward()  # SITE[a]


def good():
    x = torch.randn(4, requires_grad=True)
    fronds.curled(x.exp()).sum().backward()
