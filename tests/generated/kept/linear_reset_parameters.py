# torch: raises
# ruff: noqa
import torch
import torch.nn as nn
import torch.nn.functional as F


def program():
    w = torch.rand(4, 4, requires_grad=True)
    lin = nn.Linear(4, 4)
    loss = lin(w).sum()
    lin.reset_parameters()
    loss.backward()
