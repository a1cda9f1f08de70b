# torch: clean
# ruff: noqa
import torch
import torch.nn as nn
import torch.nn.functional as F


def program():
    w = torch.rand(4, 4, requires_grad=True)
    x = w.to(torch.float32, copy=True)
    loss = (w * w).sum()
    x.add_(1.0)
    loss.backward()
