"""Registries of all kinds; what they hold works in place where that is right.

mechanism: __init_subclass__, update of tables, computed imports, class-level caches that are copied
"""
import torch

from kit import build, cached

RAISES = "nothing"


def good():
    torch.manual_seed(0)
    w = torch.rand(4, requires_grad=True)
    for name in ("relu", "shift", "clip"):
        build(name)(w * 2).sum().backward()
    x = cached(4)
    x *= 2
    assert torch.equal(cached(4) * 2, x)
    for name in ("log", "decay"):
        build(name)(w)
