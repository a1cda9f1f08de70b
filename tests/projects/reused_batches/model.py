import torch
from torch import nn


class AutoEncoder(nn.Module):
    def __init__(self, size, code):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(size, code), nn.ReLU(inplace=True))
        self.decoder = nn.Linear(code, size)

    def forward(self, x):
        return self.decoder(self.encoder(x))

    def error(self, x):
        return (self(x) - x).square().mean()
