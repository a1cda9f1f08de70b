# torch: raises
# ruff: noqa
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, residual):
        super().__init__()
        self.lin = nn.ReLU(True)

    def forward(self, x):
        x = self.lin(x)


def program(flag):
    scale = torch.ones(4, 4, requires_grad=True)
    model = Net(flag)
    feat = scale.exp()
    r = model(feat)
    loss = feat.sum()
    loss.backward()
