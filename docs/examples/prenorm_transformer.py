"""A pre-norm transformer block that updates its residual stream in place."""

import torch
import torch.nn.functional as F
from torch import nn


class BlockBroken(nn.Module):
    def __init__(self, dim, heads=2):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def attention(self, hidden):
        batch, length, dim = hidden.shape
        q, k, v = self.qkv(hidden).view(batch, length, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v)
        return self.proj(mixed.transpose(1, 2).reshape(batch, length, dim))

    def forward(self, x):
        x += self.attention(self.norm1(x))  # TIP103: layer_norm saved its input, which is x
        x += self.mlp(self.norm2(x))  # TIP103
        return x


class BlockFixed(BlockBroken):
    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return x


def train(block):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), block(8), block(8))
    model(torch.randn(2, 5, 6)).square().mean().backward()


if __name__ == "__main__":
    train(BlockFixed)
    train(BlockBroken)
