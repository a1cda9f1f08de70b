"""Kernels register in a table that another module passes on.

mechanism: from .core import KERNELS, where core/__init__.py imports it from core/base.py
"""
import torch

from reg.net import loss

RAISES = "modified by an inplace operation"


def bad():
    loss(torch.ones(3, requires_grad=True), "cut").backward()


def good():
    loss(torch.ones(3, requires_grad=True), "bell").backward()
