import torch
from torch import nn

from .limits import find


class Policy(nn.Module):
    def __init__(self, limiter):
        super().__init__()
        self.body = nn.Linear(5, 3)
        self.limit = find(limiter)()

    def forward(self, obs):
        action = torch.tanh(self.body(obs))
        return self.limit(action)  # SITE[a]
