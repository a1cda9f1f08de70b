import torch
from torch import nn

__all__ = ["Pupil", "Aperture"]


class Pupil(nn.Module):
    def forward(self, field):
        return field * torch.sigmoid(field)


class Aperture(nn.Module):
    def __init__(self, radius):
        super().__init__()
        self.radius = radius

    def forward(self, field):
        field[..., self.radius:] = 0  # HAZARD[a] aperture
        return field
