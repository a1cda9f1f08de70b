"""MoCo writes new keys into the queue before the backward of logits that saved the queue.

source: written for this project, after kinds of errors that people report
"""
import torch
import torch.nn.functional as F
from torch import nn

RAISES = "modified by an inplace operation"


class MoCo(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 3)
        self.register_buffer("queue", F.normalize(torch.randn(3, 6), dim=0))
        self.ptr = 0

    @torch.no_grad()
    def enqueue(self, keys):
        n = len(keys)
        self.queue[:, self.ptr : self.ptr + n] = keys.t()  # HAZARD saved
        self.ptr = (self.ptr + n) % 6

    def logits(self, q, k):
        pos = (q * k).sum(1, keepdim=True)
        return torch.cat([pos, q @ self.queue], 1) / 0.2

    def forward(self, a, b):
        q = F.normalize(self.encoder(a), dim=1)
        k = F.normalize(self.encoder(b), dim=1).detach()
        out = self.logits(q, k)
        self.enqueue(k)
        return out


class GoodMoCo(MoCo):
    def logits(self, q, k):
        pos = (q * k).sum(1, keepdim=True)
        return torch.cat([pos, q @ self.queue.clone()], 1) / 0.2


def train(cls):
    torch.manual_seed(0)
    net = cls()
    loss = F.cross_entropy(net(torch.randn(2, 4), torch.randn(2, 4)), torch.zeros(2, dtype=torch.long))
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(MoCo)


def good():
    return train(GoodMoCo)
