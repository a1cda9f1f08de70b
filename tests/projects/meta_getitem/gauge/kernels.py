import torch

from .core import Kernel


class Rbf(Kernel):
    tag = "rbf"

    def forward(self, d):
        return torch.exp(-d.pow(2))


class Truncated(Kernel):
    tag = "truncated"

    def forward(self, d):
        d.clamp_(max=1.0)  # HAZARD[a] truncated
        return 1 - d
