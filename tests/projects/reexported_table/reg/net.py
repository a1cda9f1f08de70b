import torch

from . import kinds
from .core import KERNELS


def loss(w, kernel):
    return KERNELS[kernel]()(torch.exp(w)).sum()  # SITE[a]
