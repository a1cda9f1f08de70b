# torch: raises
# ruff: noqa
import torch
import torch.nn as nn
import torch.nn.functional as F


def program():
    w = torch.rand(4, 4, requires_grad=True)
    z = torch.sigmoid(w)
    y = F.dropout(z, inplace=True)
    y.sum().backward()
