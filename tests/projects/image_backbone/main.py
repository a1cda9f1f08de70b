"""The activation of the shortcut comes from a config dict with inplace=True; GroupNorm has kept the tensor that it overwrites.

mechanism: build_from_cfg with getattr(torch.nn, type), act_cfg/norm_cfg dicts handed through three constructors
"""
import torch

from backbone import configs
from backbone.train import fit

RAISES = "modified by an inplace operation"


def images():
    generator = torch.Generator().manual_seed(3)
    pictures = torch.rand(4, 3, 8, 8, generator=generator)
    pictures -= 0.5
    return pictures, torch.tensor([0, 1, 2, 1])


def bad():
    fit(configs.PREACT_TINY, *images())


def good():
    losses = fit(configs.PREACT_TINY_SAFE, *images())
    losses += fit(configs.POSTACT_TINY, *images())
    assert len(losses) == 4
