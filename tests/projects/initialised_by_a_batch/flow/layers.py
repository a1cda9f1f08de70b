import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def initialize(self, x: torch.Tensor):
        self.scale.copy_(1 / x.std(dim=0))

    def forward(self, x):
        return x * self.scale


class Shift(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(width))

    def initialize(self, x: torch.Tensor):
        self.shift.copy_(-x.mean(dim=0))  # HAZARD[a] in grad mode

    def forward(self, x):
        return x + self.shift


class Scales(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.ModuleList([Scale(width), nn.Linear(width, 1)])

    def forward(self, x: torch.Tensor, first: bool = False):
        for layer in self.layers:
            if first and hasattr(layer, "initialize"):
                layer.initialize(x)
            x = layer(x)
        return x


class Shifts(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.shift, self.head = Shift(width), nn.Linear(width, 1)

    def forward(self, x: torch.Tensor, first: bool = False):
        if first:
            self.shift.initialize(x)
        return self.head(self.shift(x))
