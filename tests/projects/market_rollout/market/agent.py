import torch
from torch import nn

from .rollout import Rollout


class PatientAgent(nn.Module):
    eps = 0.05

    def __init__(self, prices, orders):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(prices, 8), nn.ReLU(inplace=True))
        self.policy, self.critic = nn.Linear(8, orders), nn.Linear(8, 1)

    def roll(self, prices, orders, old):
        h = self.trunk(prices)
        log_p = self.policy(h).log_softmax(-1)
        log_p = log_p[torch.arange(len(orders)), orders]
        return Rollout(ratio=(log_p - old).exp(), value=torch.sigmoid(self.critic(h)).squeeze(-1))

    def loss(self, rollout, returns):
        rollout = rollout.with_returns(returns)
        loss = -(rollout.clipped(self.eps).ratio * rollout.advantage).mean()
        loss += (rollout.value - returns).square().mean()
        return loss


class ClippingAgent(PatientAgent):
    def loss(self, rollout, returns):
        rollout = rollout.with_returns(returns).clip(self.eps)  # SITE[a]
        loss = -(rollout.ratio * rollout.advantage).mean()
        loss += (rollout.value - returns).square().mean()
        return loss


class CentringAgent(PatientAgent):
    def loss(self, rollout, returns):
        rollout = rollout.with_returns(returns)
        loss = -(rollout.clipped(self.eps).ratio * rollout.advantage).mean()
        loss += (rollout.centre_values().value - returns + returns.mean()).square().mean()  # SITE[b]
        return loss
