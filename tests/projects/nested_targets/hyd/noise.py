import torch


class Multiplicative:
    def __call__(self, x):
        x.mul_(1.1)  # HAZARD[a] noise
        return x


class Additive:
    def __call__(self, x):
        return x + 0.1
