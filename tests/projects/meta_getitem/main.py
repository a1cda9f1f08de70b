"""A kernel is looked up by a subscript of its base class.

mechanism: a metaclass with __init__ and __getitem__ that derives from type(nn.Module)
"""
import torch

from gauge.regress import Regressor

RAISES = "modified by an inplace operation"


def bad():
    torch.manual_seed(0)
    Regressor("truncated")(torch.randn(4, 2)).sum().backward()


def good():
    torch.manual_seed(0)
    Regressor("rbf")(torch.randn(4, 2)).sum().backward()
