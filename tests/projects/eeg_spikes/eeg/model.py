import torch
from torch import nn
import torch.nn.functional as F


class SleepNet(nn.Module):
    def __init__(self, channels, stages, count=None):
        super().__init__()
        self.filters = nn.Conv1d(channels, 6, 5, padding=2)
        self.head = nn.Linear(6, stages)
        self.count, self.history = count, []

    def features(self, signal):
        x = self.filters(signal)
        x -= x.mean(-1, keepdim=True)
        return torch.tanh(x)

    def loss(self, signal, stages):
        features = self.features(signal)
        power = features.square().mean(-1)
        if self.count is not None:
            self.history.append(self.count(features))  # SITE[a]
        return F.cross_entropy(self.head(power), stages)
