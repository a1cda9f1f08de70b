# torch: raises
# ruff: noqa
import torch
import torch.nn as nn


def program():
    norm = nn.Linear(4, 4)
    state = torch.zeros(4, 4)
    h = norm(state)
    h4 = h
    h4.add_(torch.einsum("ij,jk->ik", h, h))
    loss = h.mean()
    loss.backward(retain_graph=True)
