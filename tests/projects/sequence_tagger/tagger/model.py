import torch
from torch import nn

from .registry import LAYERS


class Tagger(nn.Module):
    def __init__(self, words, tags, size, hidden_act, post):
        super().__init__()
        self.embed = nn.Embedding(words, size, padding_idx=0)
        self.mix = nn.Conv1d(size, size, 3, padding=1)
        self.act = LAYERS.create(hidden_act)
        self.post = LAYERS.create(post)  # SITE[a]
        self.out = nn.Linear(size, tags)

    def context(self, words):
        hidden = self.mix(self.embed(words).transpose(1, 2))
        hidden = self.act(hidden)
        return self.post(hidden).transpose(1, 2)  # SITE[a]

    def forward(self, words):
        scores = self.out(self.context(words))
        scores[words == 0] = 0.0
        return scores

    @torch.no_grad()
    def tag(self, words):
        scores = self(words)
        scores[..., 0].sub_(0.1)
        return scores.argmax(-1)
