import torch
from torch import nn


class Regressor(nn.Module):
    def __init__(self, size, width=6):
        super().__init__()
        self.first = nn.Linear(size, width)
        self.act = nn.ReLU(inplace=True)
        self.second = nn.Linear(width, 1)
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        return self.second(self.act(self.first(x))).squeeze(1)

    def step(self, x, y, rate=0.05):
        loss = (self(x) - y).square().mean()
        self.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in self.parameters():
                p.sub_(p.grad, alpha=rate)
        self.steps += 1
        return loss.item()
