"""The model's layers are partials in a defaults module; one of them asks for inplace.

mechanism: functools.partial over functional, kwargs merged from a defaults module, getattr on the module
"""
import torch

from mixer import create

RAISES = "modified by an inplace operation"


def train(name):
    torch.manual_seed(0)
    model = create(name, width=4)
    model(torch.rand(3, 4)).mean().backward()  # SITE[a]


def bad():
    train("mixer_leaky")


def good():
    train("mixer_elu")
