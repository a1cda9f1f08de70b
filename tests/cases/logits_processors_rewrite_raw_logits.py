"""Generation keeps the raw logits of every step, but the logits processors edit the very same tensor.

source: https://github.com/huggingface/transformers/pull/29680 (issue 29551)
"""

import torch
from torch import nn

RAISES = "silent"


class SuppressTokens:
    def __init__(self, ids):
        self.ids = ids

    def __call__(self, generated, scores):
        scores[:, self.ids] = -1e4  # HAZARD silent
        return scores


class RepetitionPenalty:
    def __init__(self, penalty):
        self.penalty = penalty

    def __call__(self, generated, scores):
        seen = scores.gather(1, generated)
        seen = torch.where(seen < 0, seen * self.penalty, seen / self.penalty)
        scores.scatter_(1, generated, seen)  # HAZARD silent
        return scores


class SuppressTokensFixed(SuppressTokens):
    def __call__(self, generated, scores):
        banned = torch.zeros(scores.shape[-1], dtype=torch.bool)
        banned[self.ids] = True
        return scores.masked_fill(banned, -1e4)


class RepetitionPenaltyFixed(RepetitionPenalty):
    def __call__(self, generated, scores):
        seen = scores.gather(1, generated)
        seen = torch.where(seen < 0, seen * self.penalty, seen / self.penalty)
        return scores.scatter(1, generated, seen)


class TinyLm(nn.Module):
    def __init__(self, vocab=9, dim=6):
        super().__init__()
        self.emb, self.cell, self.out = nn.Embedding(vocab, dim), nn.GRUCell(dim, dim), nn.Linear(dim, vocab)

    def forward(self, ids):
        h = torch.zeros(len(ids), self.cell.hidden_size)
        for t in range(ids.shape[1]):
            h = self.cell(self.emb(ids[:, t]), h)
        return self.out(h)


@torch.no_grad()
def generate(model, ids, processors, steps=3):
    raw_logits, unfinished = [], torch.ones(len(ids), dtype=torch.long)
    for _ in range(steps):
        logits = model(ids)
        raw_logits.append(logits)
        scores = logits
        for process in processors:
            scores = process(ids, scores)
        nxt = scores.argmax(-1) * unfinished
        unfinished.mul_((nxt != 8).long())
        ids = torch.cat([ids, nxt[:, None]], dim=1)
    return ids, raw_logits


def decode(processors):
    torch.manual_seed(0)
    model = TinyLm()
    ids, raw = generate(model, torch.tensor([[1, 2], [3, 4]]), processors)
    with torch.no_grad():
        expected = torch.stack([model(ids[:, : 2 + t]) for t in range(len(raw))])
    return torch.stack(raw), expected


def bad():
    return decode([SuppressTokens([0, 5]), RepetitionPenalty(1.5)])


def good():
    return decode([SuppressTokensFixed([0, 5]), RepetitionPenaltyFixed(1.5)])
