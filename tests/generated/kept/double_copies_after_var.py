# torch: clean
# ruff: noqa
import torch


def program(flag):
    w = torch.rand(4, 4, requires_grad=True)
    gate = torch.var(w, dim=1, keepdim=True)
    prob = w.double()
    prob.nan_to_num_()
    loss = gate.sum()
    loss.backward()
