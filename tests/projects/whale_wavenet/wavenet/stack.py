from torch import nn

from .layer import Layer


class Stack(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        c = cfg.channels
        self.first = nn.Conv1d(1, c, 1)
        self.layers = nn.ModuleList(Layer(c, d, act_layer=cfg.act_layer) for d in cfg.dilations)  # SITE[a]
        self.head = nn.Sequential(nn.Conv1d(c, c, 1), cfg.head_layer(), nn.Conv1d(c, 1, 1))

    def forward(self, x):
        x, total = self.first(x), 0
        for layer in self.layers:
            x, skip = layer(x)
            total = total + skip
        return self.head(total)
