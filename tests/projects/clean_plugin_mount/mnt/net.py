import torch
from torch import nn

from . import steps
from .core import Step


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.before = Step.plugins["inplace"]()
        self.after = Step.plugins["copying"]()

    def forward(self, x):
        return self.after(torch.sigmoid(self.before(self.fc(x))))
