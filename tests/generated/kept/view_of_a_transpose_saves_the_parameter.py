# torch: raises
# ruff: noqa
import torch
import torch.nn as nn
import torch.nn.functional as F


def program():
    w = torch.rand(4, 4, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    y = w.permute(1, 0).t().reshape(-1)
    first = w.sum()
    second = y.pow(2).sum()
    first.backward(retain_graph=True)
    opt.step()
    second.backward()
