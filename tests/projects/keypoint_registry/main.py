"""The sigmoid head's coordinates are scaled in place by the registered post-processor that the config names.

mechanism: two registries filled by a decorator function of another file, built from nested config dicts
"""
import torch

import heads  # noqa: F401  registers
import postprocess  # noqa: F401  registers
from configs import FAST, PLAIN, SAFE
from registry import HEADS, build

RAISES = "modified by an inplace operation"


def train(config):
    torch.manual_seed(0)
    head = build(HEADS, {**config, "width": 5})
    x, truth = torch.randn(4, 5), torch.randn(4, 3, 2)
    loss = (head(x) - truth).abs().mean()
    loss.backward()


def bad():
    train(FAST)


def good():
    train(SAFE)
    train(PLAIN)
