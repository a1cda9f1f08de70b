import torch

from .register import register


@register("disc")
class Disc:
    def __call__(self, r):
        r.sub_(1.0)  # HAZARD[a] disc
        return torch.relu(r)


@register("ring")
class Ring:
    def __call__(self, r):
        return torch.relu(r - 1.0)
