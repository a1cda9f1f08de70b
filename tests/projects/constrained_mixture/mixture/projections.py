import torch
from torch import nn

from .dispatch import project


@project.register(torch.Tensor)
def _(what, low, high):
    return what.clamp_(low, high)  # HAZARD[a] leaf


@project.register(list)
@project.register(tuple)
def _(what, low, high):
    return [project(w, low, high) for w in what]  # SITE[a]


@project.register(nn.Module)
def _(what, low, high):
    project(list(what.positive_parameters()), low, high)  # SITE[a]
    return what
