"""A GAN trainer keeps both losses as attributes and steps the discriminator before the generator's backward.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


def mlp(a, b):
    return nn.Sequential(nn.Linear(a, 8), nn.LeakyReLU(0.2, inplace=True), nn.Linear(8, b))


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.gen, self.disc = mlp(3, 4), mlp(4, 1)
        self.opt_g = torch.optim.SGD(self.gen.parameters(), lr=0.1)
        self.opt_d = torch.optim.SGD(self.disc.parameters(), lr=0.1)
        self.bce = nn.BCEWithLogitsLoss()

    def forward(self, real, noise):
        self.real, self.fake = real, self.gen(noise)

    def compute_losses(self):
        on_real = self.disc(self.real)
        on_fake = self.disc(self.fake)
        ones = torch.ones_like(on_real)
        self.loss_d = self.bce(on_real, ones) + self.bce(on_fake, torch.zeros_like(on_fake))
        self.loss_g = self.bce(on_fake, ones)

    def generator_loss(self):
        scores = self.disc(self.fake)
        return self.bce(scores, torch.ones_like(scores))


class BadTrainer(Trainer):
    def optimize(self, real, noise):
        self.forward(real, noise)
        self.compute_losses()
        self.opt_d.zero_grad()
        self.loss_d.backward(retain_graph=True)
        self.opt_d.step()  # HAZARD step
        self.opt_g.zero_grad()
        self.loss_g.backward()
        self.opt_g.step()


class GoodTrainer(Trainer):
    def optimize(self, real, noise):
        self.forward(real, noise)
        self.compute_losses()
        self.opt_d.zero_grad()
        self.loss_d.backward(retain_graph=True)
        self.opt_d.step()
        self.opt_g.zero_grad()
        self.generator_loss().backward()
        self.opt_g.step()


def train(trainer):
    for step in range(2):
        trainer.optimize(torch.randn(5, 4), torch.randn(5, 3))
    return [p.detach() for p in trainer.gen.parameters()]


def bad():
    return train(BadTrainer())


def good():
    return train(GoodTrainer())
