"""WGAN-GP subtracts one from the gradient's norm in place; the double backward needs the norm.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import autograd, nn

RAISES = "modified by an inplace operation"


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, x):
        return self.body(x).squeeze(1)


def slopes(critic, real, fake):
    mix = torch.linspace(0, 1, len(real)).unsqueeze(1)
    between = (mix * real + (1 - mix) * fake).requires_grad_()
    scores = critic(between)
    (grads,) = autograd.grad(scores, between, torch.ones_like(scores), create_graph=True)
    return grads.norm(2, dim=1)


def bad_penalty(critic, real, fake):
    norm = slopes(critic, real, fake)
    norm -= 1  # HAZARD saved
    return (norm**2).mean()


def good_penalty(critic, real, fake):
    norm = slopes(critic, real, fake)
    norm = norm - 1
    return (norm**2).mean()


def train(penalty):
    torch.manual_seed(0)
    critic = Critic()
    real, fake = torch.randn(6, 4), torch.randn(6, 4)
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty(critic, real, fake)
    loss.backward()
    return [loss.detach(), *(p.grad for p in critic.parameters() if p.grad is not None)]


def bad():
    return train(bad_penalty)


def good():
    return train(good_penalty)
