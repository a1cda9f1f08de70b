# torch: raises
# ruff: noqa
import torch


def program(flag):
    w = torch.rand(4, 4, requires_grad=True)
    x = w.exp() if flag else w
    h = torch.sigmoid(x)
    h.mul_(2.0)
    abs(h).sum().backward()
