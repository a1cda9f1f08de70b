"""Capsule routing squashes the summed votes in place after their squares were taken.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


def bad_squash(s, dim=-1):
    sq = s.pow(2).sum(dim, keepdim=True)
    scale = sq / (1 + sq) / (sq + 1e-8).sqrt()
    s *= scale  # HAZARD saved
    return s


def good_squash(s, dim=-1):
    sq = s.pow(2).sum(dim, keepdim=True)
    scale = sq / (1 + sq) / (sq + 1e-8).sqrt()
    return s * scale


class Routing(nn.Module):
    def __init__(self, squash, iterations=3):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 6, 3, 5) * 0.1)
        self.squash, self.iterations = squash, iterations

    def forward(self, u):
        votes = torch.einsum("bid,jiod->bjio", u, self.weight.transpose(2, 3).transpose(2, 3).permute(0, 1, 3, 2))
        logits = torch.zeros(votes.shape[:3])
        for i in range(self.iterations):
            coupling = logits.softmax(dim=1)
            v = self.squash((coupling.unsqueeze(-1) * votes).sum(2))
            if i < self.iterations - 1:
                logits = logits + (votes.detach() * v.detach().unsqueeze(2)).sum(-1)
        return v


def train(squash):
    torch.manual_seed(0)
    net = Routing(squash)
    loss = (net(torch.randn(2, 6, 3)).norm(dim=-1) - 0.9).clamp_(min=-0.5).square().sum()
    loss.backward()
    return [loss.detach(), net.weight.grad]


def bad():
    return train(bad_squash)


def good():
    return train(good_squash)
