# torch: raises
# ruff: noqa
import torch


def program(flag, n):
    w = torch.tensor([[1.0]], requires_grad=True)
    fn = lambda v: v * v
    r = fn(w)
    ctx = r.cos()
    torch.Tensor.add_(r, w)
    loss = ctx
    loss.backward()
