"""Pre-norm residual: nn.LayerNorm keeps the very x that `x += ...` overwrites one line later.

The good version adds out of place. Its second half shows the legal sibling: what a norm *returns* may be overwritten.

source: https://github.com/vllm-project/vllm/pull/24500 reduced to its two lines
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.attn = nn.Linear(dim, dim)

    def forward(self, x):
        hidden = self.norm(x)
        x += self.attn(hidden)  # HAZARD saved
        return x


class BlockFixed(Block):
    def forward(self, x):
        hidden = self.norm(x)
        x = x + self.attn(hidden)
        shifted = self.norm(x)
        shifted += 1
        return shifted


def train(block):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), block(8), block(8))
    model(torch.randn(2, 5, 3)).square().mean().backward()


def bad():
    train(Block)


def good():
    train(BlockFixed)
