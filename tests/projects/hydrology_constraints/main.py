"""A constraint module, loaded by its name, rescales the routing weights in place while gradients are on: a leaf.

mechanism: importlib.import_module("literal"), constraint called on module.weight, good variant under no_grad in the trainer
"""
import torch

from hydro.catchment import Catchment
from hydro.fitting import fit, fit_quietly

RAISES = "a leaf Variable that requires grad"


def train(fit_function):
    torch.manual_seed(0)
    model = Catchment(gauges=5, hidden=6)
    rain, flow = torch.rand(8, 5), torch.rand(8, 1)
    return fit_function(model, rain, flow, steps=2)


def bad():
    train(fit)


def good():
    train(fit_quietly)
