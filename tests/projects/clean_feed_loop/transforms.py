import torch


class Compose:
    def __init__(self, steps):
        self.steps = steps

    def __call__(self, x):
        for step in self.steps:
            x = step(x)
        return x


class Standardize:
    def __call__(self, x):
        x -= x.mean(0)
        x /= x.std(0) + 1e-3
        return x


class Jitter:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        x += torch.randn_like(x).mul_(self.scale)
        return x.clamp_(-3, 3)
