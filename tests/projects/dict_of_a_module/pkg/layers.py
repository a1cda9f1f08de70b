from torch import nn


class Double(nn.Module):
    def forward(self, h):
        return h.mul_(2)  # HAZARD[a] saved


class Plain(nn.Module):
    def forward(self, h):
        return h * 2
