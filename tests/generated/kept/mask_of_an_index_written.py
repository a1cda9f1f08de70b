# torch: raises
# ruff: noqa
import torch
import torch.nn as nn
import torch.nn.functional as F


def program():
    w = torch.rand(4, 4, requires_grad=True)
    mask = w > 0.5
    x = w[mask].sum()
    mask.logical_not_()
    x.backward()
