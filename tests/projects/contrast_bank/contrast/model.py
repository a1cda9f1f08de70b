import copy

import torch
from torch import nn
import torch.nn.functional as F

from .bank import KeyBank

WIDTH = 5
BANK = 16


class Contrast(nn.Module):
    def __init__(self, features=6, temperature=0.2):
        super().__init__()
        self.query = nn.Sequential(nn.Linear(features, 8), nn.ReLU(inplace=True), nn.Linear(8, WIDTH))
        self.key = copy.deepcopy(self.query).requires_grad_(False)
        self.bank, self.temperature = KeyBank(), temperature

    def pair(self, a, b):
        with torch.no_grad():
            k = F.normalize(self.key(b), dim=1)
        return F.normalize(self.query(a), dim=1), k

    def follow(self, rate=0.05):
        for slow, fast in zip(self.key.parameters(), self.query.parameters()):
            slow.data.lerp_(fast.data, rate)


class EagerContrast(Contrast):
    def forward(self, a, b):
        q, k = self.pair(a, b)
        logits = torch.cat([(q * k).sum(1, keepdim=True), self.bank.similarity(q)], 1)
        self.bank.enqueue(k)  # SITE[a]
        logits /= self.temperature
        return logits


class CopyingContrast(Contrast):
    def forward(self, a, b):
        q, k = self.pair(a, b)
        logits = torch.cat([(q * k).sum(1, keepdim=True), self.bank.similarity_to_copy(q)], 1)
        self.bank.enqueue(k)
        logits /= self.temperature
        return logits
