# torch: raises
# ruff: noqa
import torch


def program():
    weight = torch.randn(4, 4).requires_grad_()
    target = 4
    u = weight.data
    attn = u * weight
    u += target
    loss = attn.mean()
    loss.backward()
