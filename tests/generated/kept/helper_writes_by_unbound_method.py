# torch: raises
# ruff: noqa
import torch


def helper(h):
    torch.Tensor.add_(h, h)


def program():
    scale = torch.randn(4, 4, requires_grad=True)
    x = torch.tanh(scale)
    r = helper(x)
    loss = x.sum()
    loss.backward()
