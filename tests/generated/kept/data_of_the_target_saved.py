# torch: clean
# ruff: noqa
import torch
import torch.nn as nn


def program(flag, flag1):
    out = torch.rand(4, 4)
    x = out.data
    layer = nn.Linear(4, 4)
    out += layer(x)
    loss = out.mean()
    loss.backward()
