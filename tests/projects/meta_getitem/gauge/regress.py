import torch
from torch import nn

from . import kernels
from .core import Kernel


class Regressor(nn.Module):
    def __init__(self, kernel):
        super().__init__()
        self.centres = nn.Parameter(torch.randn(3, 2))
        self.kernel = Kernel[kernel]()

    def forward(self, x):
        d = (x[:, None] - self.centres).pow(2).sum(-1).sqrt()
        return self.kernel(d)  # SITE[a]
