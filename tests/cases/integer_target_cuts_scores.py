"""A ranking loss gathers its scores in a tensor that `torch.full` fills with 0, which makes it one of integers.

Each score is truncated to a whole number, and no gradient goes back to the model. PyTorch says nothing.
"""

import torch
from torch import nn

RAISES = "silent"


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.encoder = nn.Linear(4, 8)
        self.head = nn.Linear(8, 1)

    def forward(self, documents):
        scores = torch.full((len(documents),), 0)
        for i, document in enumerate(documents):
            scores[i] = self.head(torch.tanh(self.encoder(document))).squeeze()  # HAZARD silent
        return scores


class FloatRanker(Ranker):
    def forward(self, documents):
        scores = torch.full((len(documents),), 0.0)
        for i, document in enumerate(documents):
            scores[i] = self.head(torch.tanh(self.encoder(document))).squeeze()
        return scores


def run(ranker):
    documents = torch.randn(5, 4)
    expected = torch.stack([ranker.head(torch.tanh(ranker.encoder(d))).squeeze() for d in documents])
    return ranker(documents).float(), expected


def bad():
    return run(Ranker())


def good():
    return run(FloatRanker())
