# torch: clean
# ruff: noqa
import torch
import torch.nn as nn
import torch.nn.functional as F


def program():
    w = torch.rand(4, 4, requires_grad=True)
    z = w / 2.0
    xs = [z, z]
    for item in xs:
        F.celu_(item)
        xs[1] = xs[1] + item
    xs[1].sum().backward()
