from torch import nn
import torch.nn.functional as F

import soil.settings as S


class MoistureNet(nn.Module):
    def __init__(self, bands, unit):
        super().__init__()
        self.inputs = nn.Linear(bands, S.WIDTH)
        self.units = nn.Sequential(*(unit() for _ in range(S.DEPTH)))
        self.head = nn.Linear(S.WIDTH, 1)

    def forward(self, bands):
        return self.head(self.units(F.relu(self.inputs(bands), inplace=S.INPLACE)))

    def loss(self, bands, moisture):
        return F.smooth_l1_loss(self(bands), moisture)
