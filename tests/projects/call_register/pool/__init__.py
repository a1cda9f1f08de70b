from . import kinds
from .table import lookup


def pool(name, x):
    return lookup(name)(x)  # SITE[a]
