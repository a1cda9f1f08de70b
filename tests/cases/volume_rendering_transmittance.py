"""Alpha compositing multiplies the transmittance in place; each sample's weight saved it.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class Radiance(nn.Module):
    def __init__(self):
        super().__init__()
        self.density = nn.Linear(3, 1)
        self.colour = nn.Linear(3, 3)

    def forward(self, points):
        alpha = 1 - torch.exp(-nn.functional.softplus(self.density(points)))
        return alpha, torch.sigmoid(self.colour(points))


def bad_composite(alphas, colours):
    transmittance = torch.ones_like(alphas[:, 0])
    pixel = torch.zeros_like(colours[:, 0])
    for i in range(alphas.size(1)):
        weight = transmittance * alphas[:, i]
        pixel += weight * colours[:, i]
        transmittance *= 1 - alphas[:, i]  # HAZARD saved
    return pixel


def good_composite(alphas, colours):
    transmittance = torch.ones_like(alphas[:, 0])
    pixel = torch.zeros_like(colours[:, 0])
    for i in range(alphas.size(1)):
        weight = transmittance * alphas[:, i]
        pixel += weight * colours[:, i]
        transmittance = transmittance * (1 - alphas[:, i])
    return pixel


def train(composite):
    torch.manual_seed(0)
    net = Radiance()
    alphas, colours = net(torch.randn(4, 5, 3))
    loss = (composite(alphas, colours) - 0.5).square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(bad_composite)


def good():
    return train(good_composite)
