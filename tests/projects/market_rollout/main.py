"""Two hazards: a rollout clips its own ratios in place (a), and centres the values that sigmoid kept by a helper (b).

mechanism: dataclass with tensors and methods in another file, augmented assignment of a helper on a field
"""
import torch

from market.agent import CentringAgent, ClippingAgent, PatientAgent

RAISES = "modified by an inplace operation"


def train(cls):
    torch.manual_seed(0)
    agent = cls(prices=5, orders=3)
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-4)
    prices, orders = torch.randn(6, 5), torch.randint(0, 3, (6,))
    old, returns = torch.full((6,), -1.1), torch.rand(6)
    loss = agent.loss(agent.roll(prices, orders, old), returns)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def bad():
    train(ClippingAgent)


def bad_b():
    train(CentringAgent)


def good():
    train(PatientAgent)
