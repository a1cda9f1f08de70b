"""Accuracy is computed by an in-place sigmoid of logits that the loss saved.

source: written for this project, after kinds of errors that people report
"""
import torch
from torch import nn

RAISES = "modified by an inplace operation"


def bad_accuracy(logits, target):
    return ((logits.sigmoid_() > 0.5) == target.bool()).float().mean()  # HAZARD saved


def good_accuracy(logits, target):
    return ((logits.sigmoid() > 0.5) == target.bool()).float().mean()


def train(accuracy):
    torch.manual_seed(0)
    net = nn.Linear(3, 1)
    criterion = nn.BCEWithLogitsLoss()
    target = torch.tensor([[0.0], [1.0], [1.0]])
    logits = net(torch.randn(3, 3))
    loss = criterion(logits, target)
    score = accuracy(logits, target)
    loss.backward()
    return [loss.detach(), score.detach(), *(p.grad for p in net.parameters())]


def bad():
    return train(bad_accuracy)


def good():
    return train(good_accuracy)
