"""A model and its noise are both named in a config.

mechanism: nested _target_ strings; no file imports that of the model
"""
import torch

from hyd.configs import experiment
from hyd.utils import instantiate

RAISES = "modified by an inplace operation"


def bad():
    torch.manual_seed(0)
    instantiate(experiment("hyd.noise.Multiplicative"))(torch.randn(2, 4)).sum().backward()


def good():
    torch.manual_seed(0)
    instantiate(experiment("hyd.noise.Additive"))(torch.randn(2, 4)).sum().backward()
