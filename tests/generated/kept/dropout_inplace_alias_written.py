# torch: raises
# ruff: noqa
import torch
import torch.nn as nn
import torch.nn.functional as F


def program():
    w = torch.rand(4, 4, requires_grad=True)
    z = torch.atan2(w, w)
    m = F.dropout(z, inplace=True)
    loss = (z * z).mean()
    m.sqrt_()
    loss.backward()
