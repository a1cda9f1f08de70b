import torch
from torch import nn
import torch.nn.functional as F

import soil.settings as S


class Unit(nn.Module):
    def __init__(self, width=S.WIDTH):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, width), nn.Dropout(S.DROP, inplace=S.INPLACE), nn.ReLU(inplace=S.INPLACE))
        self.gate = nn.Linear(width, width)


class GatedUnit(Unit):
    def forward(self, x):
        gate = torch.sigmoid(self.gate(x))
        gate = F.dropout(gate, S.DROP, self.training, inplace=S.INPLACE)  # HAZARD[a] saved
        return x + gate * self.body(x)


class QuietGatedUnit(Unit):
    def forward(self, x):
        gate = torch.sigmoid(self.gate(x))
        gate = F.dropout(gate, S.DROP, self.training, inplace=S.GATE_INPLACE)
        return x + gate * self.body(x)
