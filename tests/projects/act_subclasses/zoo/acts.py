import torch
from torch import nn


class Activation(nn.Module):
    known = {}

    def __init_subclass__(cls, key=None, **kwargs):
        super().__init_subclass__(**kwargs)
        if key is not None:
            cls.known[key] = cls

    @classmethod
    def make(cls, key, **kwargs):
        return cls.known[key](**kwargs)


class Identity(Activation, key="identity"):
    def forward(self, x):
        return x


class Clip(Activation, key="clip"):
    def __init__(self, top=1.0):
        super().__init__()
        self.top = top

    def forward(self, x):
        return x.clamp_(max=self.top)  # HAZARD[a] saved


class Smooth(Activation, key="smooth"):
    def forward(self, x):
        out = x * 0.5
        out += torch.tanh(x)
        return out
