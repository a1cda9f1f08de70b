# torch: clean
# ruff: noqa
import torch
import torch.nn as nn
import torch.nn.functional as F


def program(flag):
    w = torch.rand(4, 4, requires_grad=True)
    a = torch.ones(4, 4)
    b = a @ w
    if flag:
        a.sin_()
    c = w if flag else b
    c.sum().backward()
