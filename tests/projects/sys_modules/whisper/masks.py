import sys

import torch


def keep(x):
    return x * (x > 0.1)


def drop_low(x):
    return x.masked_fill_(x < 0.1, 0.0)  # HAZARD[a] masked_fill


def get_mask(name):
    this = sys.modules[__name__]
    if not hasattr(this, name):
        raise ValueError(name)
    return getattr(this, name)
