# torch: clean
# ruff: noqa
import torch
import torch.nn as nn
import torch.nn.functional as F


def program():
    a = torch.arange(4.0)
    h = nn.GroupNorm(2, 4)(a.expand(4, 4))
    a.sin_()
    h.sum().backward()
