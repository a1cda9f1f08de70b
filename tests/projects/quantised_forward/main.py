"""A context manager rounds the weights through .data and puts them back on leaving; backward runs after that.

mechanism: context manager in another file writes .data before and after the yield, silent
"""
import copy

import torch

from edgenet.quantise import quantised, round_weights
from edgenet.training import backward_inside, backward_outside, keyword_net

RAISES = "silent"


def setup():
    torch.manual_seed(0)
    return keyword_net(), torch.randn(5, 6), torch.randint(0, 3, (5,))


def run(step):
    net, clips, words = setup()
    step(net, clips, words, quantised(net, bits=2))
    return net[0].weight.grad


def expected():
    net, clips, words = setup()
    net = copy.deepcopy(net)
    round_weights(net, bits=2)
    torch.nn.functional.cross_entropy(net(clips), words).backward()
    return net[0].weight.grad


def bad():
    return run(backward_outside), expected()


def good():
    return run(backward_inside), expected()
