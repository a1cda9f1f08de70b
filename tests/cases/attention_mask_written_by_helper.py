"""A helper writes the mask into attention probabilities that softmax saved.

source: written for this project, after kinds of errors that people report
"""

import math

import torch
from torch import nn

RAISES = "modified by an inplace operation"


def apply_mask_(attn, mask):
    """Zero what may not be attended to."""
    if mask is not None:
        attn.masked_fill_(~mask[:, None, None, :], 0.0)  # HAZARD saved
    return attn


def apply_mask(attn, mask):
    if mask is not None:
        attn = attn.masked_fill(~mask[:, None, None, :], 0.0)
    return attn


class Attention(nn.Module):
    def __init__(self, masking, dim=8, heads=2):
        super().__init__()
        self.masking, self.heads = masking, heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x, mask=None):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(q.size(-1))
        attn = self.masking(scores.softmax(dim=-1), mask)
        return self.out((attn @ v).transpose(1, 2).reshape(b, t, d))


def train(masking):
    torch.manual_seed(0)
    net = Attention(masking)
    x = torch.randn(2, 5, 8)
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]]).bool()
    loss = net(x, mask).square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(apply_mask_)


def good():
    return train(apply_mask)
