"""Two ways to edit attention weights after softmax has saved them."""

import torch
import torch.nn.functional as F
from torch import nn


class AttentionBroken(nn.Module):
    def __init__(self, dim, dropout=0.1):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.dropout = dropout

    def forward(self, x, mask):
        scores = self.q(x) @ self.k(x).transpose(1, 2)
        weights = torch.softmax(scores, dim=-1)
        weights.masked_fill_(mask, 0)  # TIP101: softmax saved its result
        return weights @ self.v(x)


class DropoutBroken(AttentionBroken):
    def forward(self, x, mask):
        scores = self.q(x) @ self.k(x).transpose(1, 2)
        scores.masked_fill_(mask, float("-inf"))  # fine: a product saves its inputs, not its result
        weights = torch.softmax(scores, dim=-1)
        weights = F.dropout(weights, self.dropout, self.training, inplace=True)  # TIP102: softmax saved its result
        return weights @ self.v(x)


class AttentionFixed(AttentionBroken):
    def forward(self, x, mask):
        scores = self.q(x) @ self.k(x).transpose(1, 2)
        scores.masked_fill_(mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        weights = F.dropout(weights, self.dropout, self.training)
        return weights @ self.v(x)


def train(attention):
    torch.manual_seed(0)
    mask = torch.ones(5, 5, dtype=torch.bool).triu(1)
    attention(4)(torch.randn(2, 5, 4), mask).mean().backward()


if __name__ == "__main__":
    train(AttentionFixed)
    train(AttentionBroken)
