import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(size, 6), nn.ELU(inplace=True), nn.Linear(6, 1))
        self.register_buffer("offset", torch.zeros(1))

    def forward(self, x):
        scores = self.body(x).squeeze(1)
        scores += self.offset
        return scores

    @torch.no_grad()
    def centre(self, x):
        self.offset -= self(x).mean()
        return self
