"""A callback pulls the weights toward their average through .data, on an event that lies between forward and backward.

mechanism: callbacks registered with on(event, bound method), .data writes in a callback class of another file, silent
"""
import torch

from glacier.callbacks import PolyakPull
from glacier.engine import Engine
from glacier.net import Segmenter

RAISES = "silent"


def first_gradient(event=None):
    torch.manual_seed(0)
    net = Segmenter(channels=3, classes=2)
    engine = Engine(net, lr=0.5)
    pull = PolyakPull(net, strength=0.5)
    batch = torch.randn(2, 6, 3), torch.randint(0, 2, (2, 6))
    engine.step(*batch)
    if event:
        engine.on(event, pull.apply)  # SITE[a]
    engine.step(*batch)
    return net.first.weight.grad.clone()


def bad():
    return first_gradient("after_loss"), first_gradient()


def good():
    return first_gradient("after_step"), first_gradient()
