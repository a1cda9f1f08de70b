"""mechanism: mixin update method and a factory function that makes the holder"""
import torch

from prism.factory import make_bank

RAISES = "modified by an inplace operation"


def step(refresh):
    bank = make_bank(4, 3)
    q = torch.randn(2, 4, requires_grad=True)
    s = q @ bank.table
    if refresh:
        bank.refresh(q)  # SITE[a]
    s.sum().backward()


def bad():
    step(True)  # SITE[a]


def good():
    step(False)
