import torch

LEVEL = 0.1


def apply(x):
    x += LEVEL * torch.randn_like(x)  # HAZARD[a] saved
    return x


def apply_to_copy(x):
    return x + LEVEL * torch.randn_like(x)
