"""A differentiable Kalman filter subtracts from the covariance in place after the gain's products saved it.

source: written for this project, after kinds of errors that people report
"""
import torch
from torch import nn

RAISES = "modified by an inplace operation"


class Filter(nn.Module):
    def __init__(self):
        super().__init__()
        self.obs = nn.Parameter(torch.eye(2, 3))
        self.log_noise = nn.Parameter(torch.zeros(2))

    def gain(self, cov):
        s = self.obs @ cov @ self.obs.t() + torch.diag(self.log_noise.exp())
        return cov @ self.obs.t() @ torch.linalg.inv(s)


class BadFilter(Filter):
    def update(self, mean, cov, z):
        k = self.gain(cov)
        mean = mean + k @ (z - self.obs @ mean)
        cov -= k @ self.obs @ cov  # HAZARD saved
        return mean, cov


class GoodFilter(Filter):
    def update(self, mean, cov, z):
        k = self.gain(cov)
        mean = mean + k @ (z - self.obs @ mean)
        cov = cov - k @ self.obs @ cov
        return mean, cov


def train(cls):
    torch.manual_seed(0)
    net = cls()
    mean, cov = torch.zeros(3), torch.eye(3)
    for z in torch.randn(3, 2):
        mean, cov = net.update(mean, cov, z)
    loss = mean.square().sum() + torch.trace(cov)
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(BadFilter)


def good():
    return train(GoodFilter)
