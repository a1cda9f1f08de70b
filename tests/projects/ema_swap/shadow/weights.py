from contextlib import contextmanager

import torch


class Shadow:
    """Average weights, in the order of the parameters."""

    def __init__(self, model, decay):
        self.decay = decay
        self.values = [p.detach().clone() for p in model.parameters()]

    @torch.no_grad()
    def update(self, model):
        for value, p in zip(self.values, model.parameters()):
            value.lerp_(p, 1 - self.decay)


def backup(model):
    return [p.data for p in model.parameters()]  # SITE[a]


def backup_copy(model):
    return [value.clone() for value in backup(model)]


@torch.no_grad()
def load(model, values):
    for p, value in zip(model.parameters(), values):
        p.copy_(value)  # HAZARD[a] silent


@contextmanager
def averaged(model, shadow, keep=backup):
    kept = keep(model)  # SITE[a]
    load(model, shadow.values)  # SITE[a]
    try:
        yield model
    finally:
        load(model, kept)  # SITE[a]
