# torch: raises
# ruff: noqa
import torch
import torch.nn as nn


def program():
    lin = nn.PReLU()
    opt = torch.optim.SGD(lin.parameters(), lr=0.1)
    out = torch.ones(4, 4)
    state = 4
    for step in range(3):
        state = lin(out) + state
        h = state
        loss = h.sum()
        loss.backward(retain_graph=True)
        opt.step()
