# torch: raises
# ruff: noqa
import torch
import torch.nn as nn
import torch.nn.functional as F


def program():
    w = torch.rand(1, 1, 4, 4, requires_grad=True)
    x = F.scaled_dot_product_attention(w, w, w)
    x.add_(1.0)
    x.sum().backward()
