from functools import partial

from torch import nn

from . import settings
from .net import DepthNet

act_layer = partial(nn.ELU, alpha=0.7, inplace=settings.INPLACE)
early_layer = partial(nn.ReLU, inplace=settings.WRITE_EARLY)


def build(**changes):
    options = dict(width=6, act_layer=act_layer, early_layer=early_layer)
    options.update(changes)
    return DepthNet(4, **options)
