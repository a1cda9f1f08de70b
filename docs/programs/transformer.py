"""A language model of GPT's kind on generated text. Attention weights are masked in place after the softmax."""

import argparse
import math

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    """Causal attention of several heads; ``sparse`` keeps the strongest weights of each row only."""

    def __init__(self, width: int, heads: int, sparse: bool) -> None:
        super().__init__()
        self.heads, self.sparse = heads, sparse
        self.projection = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        projected = self.projection(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = projected.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-2, -1)
        scores /= math.sqrt(width // self.heads)  # harmless: a product keeps its factors, not what it returns
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(future, float("-inf")).softmax(-1)
        weights.masked_fill_(padding[:, None, None, :], 0.0)
        if self.sparse:
            least = weights.topk(4, dim=-1).values[..., -1:]
            weights *= weights >= least
        return self.out((weights @ value).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, sparse: bool) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, sparse)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x), padding)
        return x + self.mlp(self.norm2(x))


class LanguageModel(nn.Module):
    def __init__(self, words: int, width: int, depth: int, length: int, sparse: bool) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, 8, sparse) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        padding = text == 0
        x = self.words(text) + self.places(torch.arange(text.shape[1]))
        for block in self.blocks:
            x = block(x, padding)
        return self.head(self.norm(x))


def sentences(number: int, length: int, words: int) -> torch.Tensor:
    """Sequences that count upwards from a random word; the last ones are shorter, padded with 0."""
    text = torch.randint(1, words, (number, 1)) + torch.arange(length)
    text = 1 + text % (words - 1)
    ends = torch.randint(length // 2, length + 1, (number, 1))
    return text.masked_fill(torch.arange(length) >= ends, 0)


def train(steps: int, sparse: bool) -> None:
    words, length = 1000, 64
    model = LanguageModel(words, 256, 6, length, sparse)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for _ in range(steps):
        text = sentences(4, length + 1, words)
        optimizer.zero_grad()
        predicted = model(text[:, :-1])
        loss = F.cross_entropy(predicted.flatten(0, 1), text[:, 1:].flatten(), ignore_index=0)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--sparse", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    train(options.steps, options.sparse)
    print(f"trained {options.steps} steps")
