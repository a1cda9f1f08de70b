"""A Fourier layer zeroes the DC bin in place after the magnitude was taken of the same spectrum.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class Spectral(nn.Module):
    def __init__(self, n=8):
        super().__init__()
        self.lift = nn.Linear(n, n)
        self.gain = nn.Parameter(torch.ones(n // 2 + 1))


class BadSpectral(Spectral):
    def forward(self, x):
        spectrum = torch.fft.rfft(self.lift(x))
        magnitude = spectrum.abs()
        spectrum[..., 0] = 0  # HAZARD saved
        gated = spectrum * torch.sigmoid(magnitude * self.gain)
        return torch.fft.irfft(gated)


class GoodSpectral(Spectral):
    def forward(self, x):
        spectrum = torch.fft.rfft(self.lift(x))
        magnitude = spectrum.abs()
        spectrum = spectrum.clone()
        spectrum[..., 0] = 0
        gated = spectrum * torch.sigmoid(magnitude * self.gain)
        return torch.fft.irfft(gated)


def train(cls):
    torch.manual_seed(0)
    net = cls()
    loss = net(torch.randn(3, 8)).square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(BadSpectral)


def good():
    return train(GoodSpectral)
