# torch: clean
# ruff: noqa
import torch


def scale(y):
    y.data.mul_(0.5)


def program():
    w = torch.randn(4, 4, requires_grad=True)
    z = w.sin()
    scale(w)
    z.sum().backward()
