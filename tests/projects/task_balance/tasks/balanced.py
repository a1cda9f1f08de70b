import torch

from .base import Trainer


class _Balance(Trainer):
    def __init__(self, model, lr):
        super().__init__(model, lr)
        self.balance_optimizer = torch.optim.Adam([self.weight], lr=lr)

    def balance(self, losses):
        rates = self.weight * losses
        spread = rates - rates.mean().detach()
        self.balance_optimizer.zero_grad()
        spread.square().sum().backward()
        self.balance_optimizer.step()  # HAZARD[a] step


class BalancedTrainer(_Balance):
    def before_backward(self, losses):
        self.balance(losses)  # SITE[a]


class LateBalancedTrainer(_Balance):
    def after_step(self, losses):
        self.balance(losses)
