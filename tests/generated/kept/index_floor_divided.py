# torch: raises
# ruff: noqa
import torch


def program():
    scale = torch.ones(4, 4, requires_grad=True)
    xs = [scale]
    idx = torch.randint(0, 4, (4,))
    y = xs[0][idx]
    loss = y.sum()
    idx //= 2
    loss.backward()
