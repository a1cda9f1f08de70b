from torch import nn

from .blocks import MixerBlock
from .defaults import DEFAULTS, ELU, LEAKY


def _stack(width, **kwargs):
    kwargs = dict(DEFAULTS, **kwargs)
    return nn.Sequential(*[MixerBlock(width, act=kwargs["act"]) for _ in range(kwargs["depth"])])


def mixer_leaky(**kwargs):
    return _stack(act=LEAKY, **kwargs)  # SITE[a]


def mixer_elu(**kwargs):
    return _stack(act=ELU, **kwargs)
