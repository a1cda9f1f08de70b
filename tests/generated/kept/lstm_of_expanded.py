# torch: clean
# ruff: noqa
import torch
import torch.nn as nn
import torch.nn.functional as F


def program():
    w = torch.randn(4, requires_grad=True)
    a = w + w
    lstm = nn.LSTM(4, 4)
    h = lstm(a.expand(4, 4))[0]
    a.sqrt_()
    h.sum().backward()
