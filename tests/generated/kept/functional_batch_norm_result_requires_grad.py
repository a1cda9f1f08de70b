# torch: raises
# ruff: noqa
import torch
import torch.nn as nn
import torch.nn.functional as F


def program(flag):
    scale = 4
    a = nn.Parameter(torch.randn(4, 4))
    ctx = F.batch_norm(a, None, None, training=True)
    loss = ctx.pow(2).sum()
    ctx += scale
    loss.backward()
