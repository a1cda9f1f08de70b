# torch: raises
# ruff: noqa
import torch


def program(flag):
    w = torch.tensor([[1.0]], requires_grad=True)
    loss = w
    loss.backward()
    opt = torch.optim.SGD([w], lr=0.1)
    loss6 = w.pow(2)
    opt.step()
    loss6.backward()
