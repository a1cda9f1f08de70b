"""Activations register themselves when they are subclassed; the squeeze one clips the exp that the gate saved.

mechanism: __init_subclass__ registry with a class keyword, looked up by the name in a config dict
"""
import torch

from zoo import build_model
from zoo.config import CLIPPED, SMOOTH

RAISES = "modified by an inplace operation"


def train(cfg):
    torch.manual_seed(0)
    model = build_model(cfg)
    x = torch.rand(4, 6)
    model(x).square().mean().backward()  # SITE[a]


def bad():
    train(CLIPPED)


def good():
    train(SMOOTH)
