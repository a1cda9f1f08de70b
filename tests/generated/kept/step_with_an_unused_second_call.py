# torch: clean
# ruff: noqa
import torch
import torch.nn as nn


def program(n):
    act2 = nn.BatchNorm1d(4)
    opt = torch.optim.SGD(act2.parameters(), lr=0.1)
    x = torch.empty(4, 4)
    for step in range(2):
        h = act2(x)
        ctx = act2(h)
        loss = h.sum()
        loss.backward()
        opt.step()
