import torch


def jittered(stream, level=0.05):
    for h in stream:
        yield h + level * torch.rand_like(h)


def jitter(stream, level=0.05):
    for h in stream:
        h += level * torch.rand_like(h)  # HAZARD[a] saved
        yield h
