import torch


def affine(x):
    return 2 * x + 1


def squash(x):
    return x.mul_(0.5)  # HAZARD[a] squash
