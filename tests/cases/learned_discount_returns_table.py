"""Returns are written backwards into one tensor; with a learned discount, each product saved the row before.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class Discount(nn.Module):
    def __init__(self):
        super().__init__()
        self.logit = nn.Parameter(torch.tensor(2.0))
        self.value = nn.Linear(3, 1)

    @property
    def gamma(self):
        return torch.sigmoid(self.logit)


def bad_returns(model, rewards, bootstrap):
    gamma = model.gamma
    returns = torch.zeros(len(rewards) + 1)
    returns[-1] = bootstrap
    for t in reversed(range(len(rewards))):
        returns[t] = rewards[t] + gamma * returns[t + 1]  # HAZARD saved
    return returns[:-1]


def good_returns(model, rewards, bootstrap):
    gamma = model.gamma
    returns = [bootstrap]
    for t in reversed(range(len(rewards))):
        returns.insert(0, rewards[t] + gamma * returns[0])
    return torch.stack(returns[:-1])


def train(fn):
    torch.manual_seed(0)
    model = Discount()
    obs, rewards = torch.randn(5, 3), torch.randn(4)
    values = model.value(obs).squeeze(1)
    loss = (fn(model, rewards, values[-1]) - values[:-1]).square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in model.parameters())]


def bad():
    return train(bad_returns)


def good():
    return train(good_returns)
