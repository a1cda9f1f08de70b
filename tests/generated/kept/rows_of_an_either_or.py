# torch: raises
# ruff: noqa
import torch
import torch.nn as nn
import torch.nn.functional as F


def program(flag):
    w = torch.rand(4, 4, requires_grad=True)
    a = w.clone()
    x = a if flag else a.sqrt()
    x += w
    for row in x:
        c = row
    c.sum().backward()
