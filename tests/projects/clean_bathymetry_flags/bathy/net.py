import torch
from torch import nn

from . import settings
from .careful import *
from .fallbacks import share_
from .lean import *


class DepthNet(nn.Module):
    def __init__(self, beams, width, act_layer, early_layer):
        super().__init__()
        self.early = nn.Sequential(nn.Linear(beams, width), early_layer(), nn.Linear(width, width))
        self.gate, self.value, self.act = nn.Linear(width, width), nn.Linear(width, width), act_layer()

    def forward(self, soundings):
        h = self.early(soundings)
        gate = torch.sigmoid(self.gate(h))
        value = self.act(self.value(self.act(h)))
        kept = thresholded(gate, settings.FLOOR)
        kept = share_(kept)
        missing = floor_mask(gate, settings.FLOOR)
        out = scaled(kept * value, 0.5)
        out.masked_fill_(missing, 0)
        return out + gate.mean()
