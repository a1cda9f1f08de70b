import torch

from .api import op


def loss(w, x):
    gate = torch.sigmoid(w * x)
    return op("scale")(gate).sum() + op("fused")(gate).sum()
