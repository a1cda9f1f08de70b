# torch: raises
# ruff: noqa
import torch


def program(flag):
    scale = torch.randn(4, requires_grad=True)
    x = 1.0 - scale
    idx = torch.randint(0, 4, (4,))
    x[idx] = 0.0
    loss = x.sum()
    idx.clamp_(0, 2)
    loss.backward()
