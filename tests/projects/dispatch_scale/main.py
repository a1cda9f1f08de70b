"""A helper is generic over tensors, lists and dicts; it scales what the net saved.

mechanism: functools.singledispatch with implementations in another file than the generic function
"""
import torch

from nested.model import TwoHeads, TwoHeadsCopy

RAISES = "modified by an inplace operation"


def train(cls):
    torch.manual_seed(0)
    out = cls(4)(torch.rand(2, 4))  # SITE[a]
    sum(v.sum() for v in out.values()).backward()


def bad():
    train(TwoHeads)


def good():
    train(TwoHeadsCopy)
