import torch
from torch import nn

from .masks import get_mask


class Frontend(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.mel = nn.Linear(10, 6)
        self.mask = get_mask(mask)

    def forward(self, spectrum):
        energy = torch.sigmoid(self.mel(spectrum))
        energy = self.mask(energy)  # SITE[a]
        return energy.mean()
