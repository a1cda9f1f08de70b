# torch: clean
# ruff: noqa
import torch
import torch.nn as nn


def program():
    drop = nn.BatchNorm1d(4)
    buf = torch.eye(4)
    for step in range(2):
        h = drop(buf)
        z = drop(h)
        h.cos_()
        loss = h.sum()
        loss.backward()
