"""A recurrent A2C resets hidden states of finished episodes in place; the value head had saved them.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn

RAISES = "modified by an inplace operation"


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 5)
        self.value = nn.Linear(5, 1)
        self.logits = nn.Linear(5, 2)

    def act(self, obs, hidden):
        hidden = self.cell(obs, hidden)
        return self.logits(hidden), self.value(hidden).squeeze(-1), hidden


def bad_rollout(policy, observations, dones):
    hidden = torch.zeros(observations.size(1), 5)
    values, entropies = [], []
    for obs, done in zip(observations, dones):
        logits, value, hidden = policy.act(obs, hidden)
        hidden *= (~done).float().unsqueeze(1)  # HAZARD saved
        values.append(value)
        entropies.append(torch.distributions.Categorical(logits=logits).entropy())
    return torch.stack(values), torch.stack(entropies)


def good_rollout(policy, observations, dones):
    hidden = torch.zeros(observations.size(1), 5)
    values, entropies = [], []
    for obs, done in zip(observations, dones):
        logits, value, hidden = policy.act(obs, hidden)
        hidden = hidden * (~done).float().unsqueeze(1)
        values.append(value)
        entropies.append(torch.distributions.Categorical(logits=logits).entropy())
    return torch.stack(values), torch.stack(entropies)


def train(rollout):
    torch.manual_seed(0)
    policy = Policy()
    values, entropies = rollout(policy, torch.randn(4, 2, 3), torch.rand(4, 2) > 0.5)
    loss = (1 - values).square().mean() - 0.01 * entropies.mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in policy.parameters())]


def bad():
    return train(bad_rollout)


def good():
    return train(good_rollout)
