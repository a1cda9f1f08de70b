from torch import nn


def make_act(cfg):
    if hasattr(nn, cfg.name):
        return getattr(nn, cfg.name)(**cfg.kwargs())  # SITE[a]
    raise ValueError(f"no activation {cfg.name}")


def make_linear(cfg):
    return nn.Linear(cfg.width, cfg.width, bias=cfg.bias)
