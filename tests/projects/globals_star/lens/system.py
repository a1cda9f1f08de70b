import torch
from torch import nn

from .zoo import create


class LensSystem(nn.Module):
    def __init__(self, stop="Aperture"):
        super().__init__()
        self.depth = nn.Parameter(torch.rand(8))
        self.stop = create(stop, 5) if stop == "Aperture" else create(stop)

    def forward(self, field):
        wave = torch.exp(-self.depth * field)
        return self.stop(wave).sum()  # SITE[a]
