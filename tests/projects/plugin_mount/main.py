"""Filters are listed in their base class.

mechanism: a metaclass that asks hasattr(cls, ...) to tell the base class from the others
"""
import torch

from mnt.eeg import Eeg

RAISES = "modified by an inplace operation"


def bad():
    torch.manual_seed(0)
    Eeg()(torch.randn(2, 4)).sum().backward()


def good():
    torch.manual_seed(0)
    Eeg("median")(torch.randn(2, 4)).sum().backward()
