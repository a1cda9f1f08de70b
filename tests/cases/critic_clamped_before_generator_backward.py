"""Weights of the critic are clamped under no_grad while the generator's loss still needs them.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(3, 6), nn.Linear(6, 1)

    def forward(self, x):
        return self.two(torch.relu_(self.one(x)))

    @torch.no_grad()
    def clip(self, bound):
        for p in self.parameters():
            p.clamp_(-bound, bound)  # HAZARD saved


def bad_step(critic, gen, noise):
    score = critic(gen(noise)).mean()
    critic.clip(0.05)
    (-score).backward()


def good_step(critic, gen, noise):
    score = critic(gen(noise)).mean()
    (-score).backward()
    critic.clip(0.05)


def train(step):
    torch.manual_seed(0)
    critic, gen = Critic(), nn.Linear(2, 3)
    step(critic, gen, torch.randn(4, 2))
    return [p.grad for p in gen.parameters()]


def bad():
    return train(bad_step)


def good():
    return train(good_step)
