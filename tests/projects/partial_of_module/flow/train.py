import torch

from .make import make_bijection, make_prior


class Flow:
    def __init__(self, bijection, prior):
        self.scale = torch.ones(4, requires_grad=True)
        self.bijection = make_bijection(bijection)
        self.prior = make_prior(prior)

    def nll(self, x):
        z = torch.softmax(x * self.scale, -1)
        return -self.prior(self.bijection(z))  # SITE[a]
