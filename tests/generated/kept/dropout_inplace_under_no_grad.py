# torch: raises
# ruff: noqa
import torch
import torch.nn as nn
import torch.nn.functional as F


def program():
    w = torch.rand(4, 4, requires_grad=True)
    h = torch.sigmoid(w)
    with torch.no_grad():
        h = F.dropout(h, inplace=True)
    h.sum().backward()
