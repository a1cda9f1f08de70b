import torch

from .register import REGISTRY


def render(points, shape="disc"):
    r = points.pow(2).sum(-1).sqrt()
    return REGISTRY[shape]()(r).sum()  # SITE[a]
