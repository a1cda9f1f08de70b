"""A residual block that overwrites what its relu saved, under the sanitizer."""

import torch
from torch import nn

from flake8_inplace.runtime import InplaceHazardError, inplace_sanitizer


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        out = torch.relu(self.fc(x))
        out += x
        return out


try:
    with inplace_sanitizer():
        Block()(torch.ones(2, 8)).sum().backward()
except InplaceHazardError as error:
    print(error)
