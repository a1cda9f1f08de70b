# torch: clean
# ruff: noqa
import torch
import torch.nn as nn
import torch.nn.functional as F


def program(flag, flag1):
    w = torch.rand(4, 4, requires_grad=True)
    a = w.clone()
    if flag:
        b = 1
    elif flag1:
        a = a * a
    a.add_(1.0)
    a.sum().backward()
