import torch
from torch import nn

from .registry import LAYERS

LAYERS.register("none")(nn.Identity)
LAYERS.register("tanh")(nn.Tanh)


@LAYERS.register("hard_clip")
class HardClip(nn.Module):
    """Bounds activations, to be quantised."""

    def __init__(self, bound=0.9):
        super().__init__()
        self.bound = bound

    def forward(self, x):
        return x.clamp_(-self.bound, self.bound)  # HAZARD[a] saved


@LAYERS.register("soft_clip")
class SoftClip(HardClip):
    def forward(self, x):
        return super().forward(x * 1.0)


@LAYERS.register()
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))

    def forward(self, x):
        y = x * self.weight
        y += 0.1
        return y
