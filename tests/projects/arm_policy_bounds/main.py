"""A decorator from another file bounds the actions of the policy in place; they are the tanh that autograd kept.

mechanism: parametrised decorator of another file overwrites the decorated method's result
"""
import torch

from arm.policy import BoundedPolicy, CopyBoundedPolicy
from arm.reach import reach_loss

RAISES = "modified by an inplace operation"


def train(cls):
    torch.manual_seed(0)
    policy = cls(joints=3)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    angles, goal = torch.randn(5, 3), torch.randn(5, 2)
    for _ in range(2):
        optimizer.zero_grad()
        reach_loss(policy, angles, goal).backward()
        optimizer.step()


def bad():
    train(BoundedPolicy)


def good():
    train(CopyBoundedPolicy)
