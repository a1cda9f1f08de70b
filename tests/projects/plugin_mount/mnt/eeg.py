import torch
from torch import nn

from . import filters
from .core import Filter


class Eeg(nn.Module):
    def __init__(self, label="notch"):
        super().__init__()
        self.spatial = nn.Linear(4, 4)
        self.filter = Filter.named(label)

    def forward(self, x):
        power = torch.exp(self.spatial(x))
        return self.filter(power)  # SITE[a]
