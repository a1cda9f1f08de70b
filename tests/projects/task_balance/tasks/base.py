import torch
from torch import nn


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.weight = nn.Parameter(torch.ones(2))
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.log = []

    def before_backward(self, losses):
        """For subclasses."""

    def after_step(self, losses):
        """For subclasses."""

    def fit_batch(self, batch):
        losses = self.model.losses(batch)
        total = (self.weight * losses).sum()
        self.before_backward(losses.detach())  # SITE[a]
        self.optimizer.zero_grad()
        total.backward()
        self.optimizer.step()
        self.after_step(losses.detach())
        self.log.append(total.item())
