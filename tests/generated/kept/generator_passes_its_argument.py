# torch: raises
# ruff: noqa
import torch
import torch.nn as nn
import torch.nn.functional as F


def tool(a):
    yield a


def program():
    w = torch.rand(4, 4, requires_grad=True)
    u = torch.tanh(w)
    r = tool(u).__next__()
    r.relu_()
    r.sum().backward()
