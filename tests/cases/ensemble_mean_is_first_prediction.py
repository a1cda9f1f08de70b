"""The mean of an ensemble is accumulated in its first member's prediction, which is compared with it afterwards.

source: written for this project, after kinds of errors that people report
"""
import torch
from torch import nn

RAISES = "silent"


def members():
    torch.manual_seed(0)
    return nn.ModuleList(nn.Linear(3, 2) for _ in range(3)), torch.randn(4, 3)


def bad_disagreement(nets, x):
    outs = [net(x) for net in nets]
    mean = outs[0]
    for out in outs[1:]:
        mean += out  # HAZARD silent
    mean = mean / len(outs)
    return sum((out - mean).square().mean() for out in outs)


def good_disagreement(nets, x):
    outs = [net(x) for net in nets]
    mean = outs[0].clone()
    for out in outs[1:]:
        mean += out
    mean = mean / len(outs)
    return sum((out - mean).square().mean() for out in outs)


def bad():
    return bad_disagreement(*members()).detach(), good_disagreement(*members()).detach()


def good():
    return good_disagreement(*members()).detach(), good_disagreement(*members()).detach()
