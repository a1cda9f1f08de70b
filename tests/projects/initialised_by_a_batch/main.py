"""Layers whose parameters are set from the first batch: one class is called under no_grad, the other one isn't.

mechanism: a method that overwrites a leaf, by way of a forward of the same file; another file decides on the grad mode
"""
import torch

from flow.train import fit, fit_shifts

RAISES = "a leaf Variable that requires grad is being used in an in-place operation"


def bad():
    torch.manual_seed(0)
    return fit_shifts(torch.randn(8, 3))


def good():
    torch.manual_seed(0)
    fit(torch.randn(8, 3))
