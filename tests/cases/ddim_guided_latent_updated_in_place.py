"""A guided sampler scales the latent in place after the denoiser saved it.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(5, 8), nn.Linear(8, 4)

    def forward(self, x, t):
        time = torch.full_like(x[:, :1], t)
        return self.outer(torch.nn.functional.silu(self.inner(torch.cat([x, time], 1)))) * x


class Sampler:
    def __init__(self, model, steps=3):
        self.model = model
        self.alphas = torch.linspace(0.9, 0.3, steps)


class BadSampler(Sampler):
    def sample(self, x):
        for i in reversed(range(len(self.alphas))):
            a = self.alphas[i].item()
            eps = self.model(x, i / 10)
            x.sub_(eps, alpha=(1 - a) ** 0.5).div_(a**0.5)  # HAZARD saved
        return x


class GoodSampler(Sampler):
    def sample(self, x):
        for i in reversed(range(len(self.alphas))):
            a = self.alphas[i].item()
            eps = self.model(x, i / 10)
            x = x.sub(eps, alpha=(1 - a) ** 0.5).div_(a**0.5)
        return x


def train(cls):
    torch.manual_seed(0)
    model = Denoiser()
    latent = torch.randn(2, 4)
    loss = cls(model).sample(latent.clone()).square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in model.parameters())]


def bad():
    return train(BadSampler)


def good():
    return train(GoodSampler)
