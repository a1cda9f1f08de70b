"""Differentiable beam search writes -1e9 into log-probabilities of finished beams.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class Decoder(nn.Module):
    def __init__(self, vocab=6, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.cell = nn.LSTMCell(dim, dim)
        self.head = nn.Linear(dim, vocab)

    def step(self, token, state):
        state = self.cell(self.embed(token), state)
        return torch.log_softmax(self.head(state[0]), dim=-1), state


class BadDecoder(Decoder):
    def mask_finished(self, logp, finished):
        logp[finished, 1:] = -1e9  # HAZARD saved
        return logp


class GoodDecoder(Decoder):
    def mask_finished(self, logp, finished):
        logp = logp.clone()
        logp[finished, 1:] = -1e9
        return logp


def search(decoder, width=3, steps=4):
    token = torch.full((width,), 2)
    state = (torch.zeros(width, 8), torch.zeros(width, 8))
    total = torch.zeros(width)
    finished = torch.zeros(width, dtype=torch.bool)
    for _ in range(steps):
        logp, state = decoder.step(token, state)
        logp = decoder.mask_finished(logp, finished)
        candidates = (total.unsqueeze(1) + logp).view(-1)
        total, index = candidates.topk(width)
        beam, token = index // 6, index % 6
        state = (state[0][beam], state[1][beam])
        finished = finished[beam] | (token == 0)
    return total


def train(cls):
    torch.manual_seed(0)
    decoder = cls()
    loss = -search(decoder).mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in decoder.parameters())]


def bad():
    return train(BadDecoder)


def good():
    return train(GoodDecoder)
