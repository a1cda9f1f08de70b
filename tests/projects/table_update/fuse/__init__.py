from . import basic, more
from .table import REGISTRY, TABLE


def fuse(name, x, y):
    if name in TABLE:
        return TABLE[name](x, y)  # SITE[a]
    return REGISTRY.get(name)(x, y)  # SITE[b]
