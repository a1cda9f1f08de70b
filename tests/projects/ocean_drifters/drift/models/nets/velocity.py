import torch
from torch import nn


class VelocityField(nn.Module):
    """Currents in units of the fastest one seen."""

    def __init__(self, hidden):
        super().__init__()
        self.inner = nn.Linear(2, hidden)
        self.outer = nn.Linear(hidden, 2)

    def forward(self, positions):
        h = self.inner(positions)
        h.relu_()
        return torch.tanh(self.outer(h))
