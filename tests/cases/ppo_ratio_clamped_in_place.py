"""PPO's clipped surrogate clamps the ratio in place, which exp had saved and the unclipped term uses.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn
from torch.distributions import Normal

RAISES = "modified by an inplace operation"


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Linear(3, 2)
        self.log_std = nn.Parameter(torch.zeros(2))

    def log_prob(self, obs, act):
        return Normal(self.mean(obs), self.log_std.exp()).log_prob(act).sum(-1)


def bad_objective(actor, batch, clip=0.2):
    ratio = torch.exp(actor.log_prob(batch["obs"], batch["act"]) - batch["logp"])
    surr1 = ratio * batch["adv"]
    surr2 = ratio.clamp_(1 - clip, 1 + clip) * batch["adv"]  # HAZARD saved
    return -torch.min(surr1, surr2).mean()


def good_objective(actor, batch, clip=0.2):
    ratio = torch.exp(actor.log_prob(batch["obs"], batch["act"]) - batch["logp"])
    surr1 = ratio * batch["adv"]
    surr2 = ratio.clamp(1 - clip, 1 + clip) * batch["adv"]
    return -torch.min(surr1, surr2).mean()


def train(objective):
    torch.manual_seed(0)
    actor = Actor()
    batch = {"obs": torch.randn(6, 3), "act": torch.randn(6, 2), "logp": -torch.rand(6) * 3, "adv": torch.randn(6)}
    batch["adv"] -= batch["adv"].mean()
    loss = objective(actor, batch)
    loss.backward()
    return [loss.detach(), *(p.grad for p in actor.parameters())]


def bad():
    return train(bad_objective)


def good():
    return train(good_objective)
