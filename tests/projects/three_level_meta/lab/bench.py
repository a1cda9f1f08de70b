import torch

from . import leaf
from .meta import get


def measure(w, x, probe):
    signal = torch.sigmoid(w * x)
    return get(probe)().read(signal).sum()  # SITE[a]
