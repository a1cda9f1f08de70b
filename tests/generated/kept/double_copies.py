# torch: clean
# ruff: noqa
import torch


def program():
    a = torch.rand(4, 4, requires_grad=True)
    weight = torch.ones(4, 4, requires_grad=True)
    feat = torch.mul(weight, a)
    attn = a.double()
    h = feat
    loss = h.mean()
    attn.add_(feat, alpha=0.1)
    loss.backward()
