"""Parameters for functional_call are updated with sub_ although they are the module's own leaves.

source: written for this project, after kinds of errors that people report
"""

import torch
from torch import nn
from torch.func import functional_call

RAISES = "a leaf Variable that requires grad"


def inner_loss(net, params, x, y):
    return nn.functional.mse_loss(functional_call(net, params, (x,)), y)


def bad_step(net, x, y, lr=0.1):
    params = dict(net.named_parameters())
    grads = torch.autograd.grad(inner_loss(net, params, x, y), list(params.values()))
    for (name, p), g in zip(params.items(), grads):
        p.sub_(lr * g)  # HAZARD leaf
    return params


def good_step(net, x, y, lr=0.1):
    params = dict(net.named_parameters())
    grads = torch.autograd.grad(inner_loss(net, params, x, y), list(params.values()))
    with torch.no_grad():
        for (name, p), g in zip(params.items(), grads):
            p.sub_(lr * g)
    return params


def train(step):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    params = step(net, x, y)
    loss = inner_loss(net, params, x, y)
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(bad_step)


def good():
    return train(good_step)
