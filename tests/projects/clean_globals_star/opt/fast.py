import torch

__all__ = ["fused"]


def fused(x):
    return x * 0.5


def scale(x):
    return x.mul_(0.5)
