import torch
from torch import nn

from .config import BlockConfig
from .factory import make_act, make_linear


class Gated(nn.Module):
    def __init__(self, cfg: BlockConfig):
        super().__init__()
        self.gate = make_linear(cfg)
        self.value = make_linear(cfg)
        self.act = make_act(cfg.act)

    def forward(self, x):
        g = torch.sigmoid(self.gate(x))
        v = self.value(x)
        v += x
        return self.act(g) * v  # HAZARD[a] saved
