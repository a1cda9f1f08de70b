import torch
from torch import nn


class Denoiser(nn.Module):
    def __init__(self, width, noise):
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.noise = noise

    def forward(self, x):
        h = torch.tanh(self.fc(x))
        return self.noise(h)  # SITE[a]
