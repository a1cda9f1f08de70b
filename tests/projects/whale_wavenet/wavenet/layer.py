import torch
from torch import nn
import torch.nn.functional as F


class Layer(nn.Module):
    def __init__(self, channels, dilation, act_layer=nn.Identity):
        super().__init__()
        self.pad = dilation
        self.conv = nn.Conv1d(channels, 2 * channels, 2, dilation=dilation)
        self.out = nn.Conv1d(channels, channels, 1)
        self.act = act_layer()  # SITE[a]

    def forward(self, x):
        a, b = self.conv(F.pad(x, (self.pad, 0))).chunk(2, 1)
        heard = torch.tanh(a)
        y = self.out(heard * torch.sigmoid(b))
        y += x
        return y, self.act(heard)  # HAZARD[a] saved
