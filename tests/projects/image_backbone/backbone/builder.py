import copy

from torch import nn

CHANNELS_ARGUMENT = {"GroupNorm": "num_channels", "BatchNorm2d": "num_features"}


def build_from_cfg(cfg, scope, **defaults):
    """An object of the class that cfg names in the scope, from cfg's other entries."""
    if not isinstance(cfg, dict) or "type" not in cfg:
        raise TypeError(f"a dict with a type, not {cfg!r}")
    arguments = {**defaults, **copy.deepcopy(cfg)}
    cls = getattr(scope, arguments.pop("type"))
    return cls(**arguments)  # SITE[a]


def build_act(cfg):
    return build_from_cfg(cfg, nn)  # SITE[a]


def build_norm(cfg, channels):
    return build_from_cfg(cfg, nn, **{CHANNELS_ARGUMENT[cfg["type"]]: channels})
