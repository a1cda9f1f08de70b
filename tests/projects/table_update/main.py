"""Another module adds its functions to a table with update and register.

mechanism: TABLE.update({...}) and REGISTRY.add(name, f) at the top level of a file other than the table's
"""
import torch

from fuse import fuse

RAISES = "modified by an inplace operation"


def values():
    torch.manual_seed(0)
    w = torch.rand(4, requires_grad=True)
    return w.sigmoid(), torch.ones(4)


def bad():
    x, y = values()
    fuse("add", x, y).sum().backward()  # SITE[a]


def bad_b():
    x, y = values()
    fuse("mul", x, y).sum().backward()  # SITE[b]


def good():
    x, y = values()
    fuse("sum", x, y).sum().backward()
    x, y = values()
    fuse("prod", x, y).sum().backward()
