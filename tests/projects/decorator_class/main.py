"""Shapes are registered by a class that decorates.

mechanism: a decorator that is a class with __call__
"""
import torch

import dec
from dec.render import render

RAISES = "modified by an inplace operation"


def bad():
    render(torch.full((3, 2), 2.0, requires_grad=True)).backward()


def good():
    render(torch.full((3, 2), 2.0, requires_grad=True), "ring").backward()
