from .table import REGISTRY


def mul(x, y):
    x *= y  # HAZARD[b] saved
    return x


def prod(x, y):
    z = x * 2
    z *= y
    return z


REGISTRY.add("mul", mul)
REGISTRY.add("prod", prod)
