"""mechanism: a mixin from another file writes an attribute that the model saved"""
import torch

from tide.nets import TideNet, TideNetSafe

RAISES = "modified by an inplace operation"


def bad():
    TideNet()(torch.randn(3, 4)).sum().backward()


def good():
    TideNetSafe()(torch.randn(3, 4)).sum().backward()
