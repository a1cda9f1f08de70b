import torch

from .plugins import Plugin


def lennard_jones(positions, guard="clip"):
    delta = positions[:, None] - positions[None]
    r = (delta.pow(2).sum(-1) + 1e-4).sqrt()
    r = Plugin.create(guard).apply(r)  # SITE[a]
    return (1 / r**6).sum()
