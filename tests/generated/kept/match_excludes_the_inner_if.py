# torch: clean
# ruff: noqa
import torch
import torch.nn as nn
import torch.nn.functional as F


def program(flag):
    w = torch.rand(4, 4, requires_grad=True)
    out = torch.rand(4, 4)
    match flag:
        case True:
            if not flag:
                out[...] = w
        case _:
            pass
    loss = w.sum() + out.pow(2).sum()
    out.sigmoid_()
    loss.backward()
