from .activations import Gentle, Lean


class Config:
    channels = 6
    dilations = (1, 2)
    lr = 1e-3
    act_layer = Lean
    head_layer = Lean


class SafeConfig(Config):
    act_layer = Gentle
