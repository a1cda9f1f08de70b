# torch: raises
# ruff: noqa
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.ReLU(True)
        self.act = nn.LogSoftmax(dim=1)

    def forward(self, x):
        x = self.act(x)
        x = self.drop(x)
        return x


def program():
    weight = torch.tensor([[1.0]], requires_grad=True)
    model = Net()
    r = model(weight)
    xs = [r]
    loss = xs[0]
    loss.backward()
