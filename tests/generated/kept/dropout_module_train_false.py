# torch: clean
# ruff: noqa
import torch
import torch.nn as nn
import torch.nn.functional as F


def program():
    w = torch.rand(4, 4, requires_grad=True)
    drop = nn.Dropout(0.5, inplace=True)
    drop.train(False)
    x = drop(torch.sigmoid(w))
    x.sum().backward()
