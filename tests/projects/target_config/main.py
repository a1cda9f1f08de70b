"""Objects are named by dotted paths in a config, as hydra does.

mechanism: rsplit of "_target_", import_module, getattr, kwargs
"""
import torch

from app.build import instantiate
from app.config import CLIPPED, FREE

RAISES = "modified by an inplace operation"


def train(cfg):
    torch.manual_seed(0)
    w = torch.rand(4, requires_grad=True)
    instantiate(cfg)(w.exp()).sum().backward()  # SITE[a]


def bad():
    train(CLIPPED)


def good():
    train(FREE)
