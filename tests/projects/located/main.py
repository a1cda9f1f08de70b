"""A pool is named by its full path, as detectron2 does.

mechanism: pydoc.locate with a string of another file
"""
import torch

from leaf.model import Leaf

RAISES = "modified by an inplace operation"


def bad():
    torch.manual_seed(0)
    Leaf()(torch.randn(5, 7)).backward()


def good():
    torch.manual_seed(0)
    Leaf({"kind": "leaf.pool.Flat"})(torch.randn(5, 7)).backward()
