"""A VAE adds the noise to mu in place after the KL term squared it.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(6, 4), nn.Linear(2, 6)

    def encode(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=1)
        return mu * 2, logvar.clone()

    @staticmethod
    def kl(mu, logvar):
        return -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()


class BadVAE(VAE):
    def forward(self, x):
        mu, logvar = self.encode(x)
        kl = self.kl(mu, logvar)
        std = logvar.mul_(0.5).exp_()
        z = mu.add_(std * torch.linspace(-1, 1, 2))  # HAZARD saved
        return self.dec(z), kl


class GoodVAE(VAE):
    def forward(self, x):
        mu, logvar = self.encode(x)
        kl = self.kl(mu, logvar)
        std = logvar.mul_(0.5).exp_()
        z = mu + std * torch.linspace(-1, 1, 2)
        return self.dec(z), kl


def train(cls):
    torch.manual_seed(0)
    net = cls()
    x = torch.rand(3, 6)
    recon, kl = net(x)
    loss = nn.functional.mse_loss(recon, x) + kl
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(BadVAE)


def good():
    return train(GoodVAE)
