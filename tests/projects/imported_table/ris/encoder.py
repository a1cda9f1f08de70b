import torch
from torch import nn

from . import poolers
from .tables import POOLERS


class Encoder(nn.Module):
    def __init__(self, pooler):
        super().__init__()
        self.proj = nn.Linear(5, 5)
        self.pool = POOLERS[pooler]()

    def forward(self, x, mask):
        tokens = torch.tanh(self.proj(x))
        return self.pool(tokens, mask)  # SITE[a]
