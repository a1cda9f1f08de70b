"""The inner loop of MAML subtracts the gradient from cloned weights in place; the outer backward needs them.

source: written for this project, after kinds of errors that people report
"""

import torch
import torch.nn.functional as F
from torch import nn

RAISES = "modified by an inplace operation"


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.params = nn.ParameterList(
            [nn.Parameter(torch.randn(8, 2) * 0.3), nn.Parameter(torch.zeros(8)), nn.Parameter(torch.randn(1, 8) * 0.3)]
        )

    @staticmethod
    def apply_net(x, weights):
        return F.linear(torch.tanh(F.linear(x, weights[0], weights[1])), weights[2])


def bad_adapt(learner, x, y, lr=0.1):
    fast = [p.clone() for p in learner.params]
    for _ in range(2):
        loss = F.mse_loss(learner.apply_net(x, fast), y)
        grads = torch.autograd.grad(loss, fast, create_graph=True)
        for w, g in zip(fast, grads):
            w.sub_(lr * g)  # HAZARD saved
    return fast


def good_adapt(learner, x, y, lr=0.1):
    fast = [p.clone() for p in learner.params]
    for _ in range(2):
        loss = F.mse_loss(learner.apply_net(x, fast), y)
        grads = torch.autograd.grad(loss, fast, create_graph=True)
        fast = [w - lr * g for w, g in zip(fast, grads)]
    return fast


def train(adapt):
    torch.manual_seed(0)
    learner = Learner()
    x, y = torch.randn(6, 2), torch.randn(6, 1)
    fast = adapt(learner, x[:3], y[:3])
    loss = F.mse_loss(learner.apply_net(x[3:], fast), y[3:])
    loss.backward()
    return [loss.detach(), *(p.grad for p in learner.params)]


def bad():
    return train(bad_adapt)


def good():
    return train(good_adapt)
