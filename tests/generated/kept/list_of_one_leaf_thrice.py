# torch: raises
# ruff: noqa
import torch


def program(flag, flag1):
    a = torch.tensor([[1.0]], requires_grad=True)
    xs = [a, a, a]
    score6 = xs[0] * xs[0]
    with torch.no_grad():
        torch.Tensor.add_(xs[2], score6)
    loss = score6
    loss.backward()
