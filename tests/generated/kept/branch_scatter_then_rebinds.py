# torch: clean
# ruff: noqa
import torch
import torch.nn as nn
import torch.nn.functional as F


def program(flag):
    w = torch.rand(4, 4, requires_grad=True)
    a = w.asinh()
    b = a * (a > 0)
    a.relu_()
    if flag:
        c = 1
    else:
        a.mul_(2.0)
        a = b
    a.sum().backward()
