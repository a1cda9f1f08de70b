"""The forget-gate part of an LSTM's bias is filled with ones with grad mode on.

source: written for this project, after kinds of errors that people report
"""
import torch
from torch import nn

RAISES = "a view of a leaf Variable that requires grad"


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, batch_first=True)
        self.reset_bias()

    def forward(self, x):
        return self.lstm(x)[0][:, -1]


class BadEncoder(Encoder):
    def reset_bias(self):
        for name, p in self.lstm.named_parameters():
            if "bias" in name:
                n = p.size(0)
                p[n // 4 : n // 2].fill_(1.0)  # HAZARD leaf


class GoodEncoder(Encoder):
    def reset_bias(self):
        for name, p in self.lstm.named_parameters():
            if "bias" in name:
                n = p.size(0)
                with torch.no_grad():
                    p[n // 4 : n // 2].fill_(1.0)


def train(cls):
    torch.manual_seed(0)
    net = cls()
    loss = net(torch.randn(2, 3, 3)).square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(BadEncoder)


def good():
    return train(GoodEncoder)
