# torch: clean
# ruff: noqa
import torch
import torch.nn as nn


def program():
    norm = nn.Linear(4, 4)
    state = torch.zeros(4, 4)
    h = state
    ctx = h
    z = ctx.data
    idx = torch.randint(0, 4, (4, 4))
    h.scatter_(1, idx, norm(z))
    loss = ctx.sum()
    loss.backward(retain_graph=True)
