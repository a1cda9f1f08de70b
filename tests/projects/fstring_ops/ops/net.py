import torch
from torch import nn

from . import get


class Net(nn.Module):
    def __init__(self, width, op):
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.op = get(op)

    def forward(self, x):
        h = torch.tanh(self.fc(x))
        return self.op(h, 0.5)  # SITE[a]
