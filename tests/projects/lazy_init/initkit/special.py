import torch
from torch import nn


def diagonal(layer, gain=1.0):
    for p in layer.parameters():
        if p.dim() > 1:
            p.zero_()  # HAZARD[a] leaf
            p.fill_diagonal_(gain)  # HAZARD[a] leaf
        else:
            nn.init.zeros_(p)
