import torch
from torch import nn

import regular


class Block(nn.Module):
    def __init__(self, width, inplace):
        super().__init__()
        self.fc, self.gate = nn.Linear(width, width), nn.Linear(width, width)
        self.inplace = inplace

    def forward(self, x):
        h = self.fc(x)
        gated = h * torch.sigmoid(self.gate(x))
        h = regular.drop_path(h, 0.2, self.inplace)  # SITE[a]
        return gated + h
