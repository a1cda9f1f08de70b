import torch
from torch import nn


class Gate(nn.Linear):
    def forward(self, x):
        gate = torch.sigmoid(super().forward(x))
        gate *= 2
        return gate * x


Gate(4, 4)(torch.ones(1, 4)).sum().backward()
