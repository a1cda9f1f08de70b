from torch import nn


class Clipped(nn.Module):
    def __init__(self, top):
        super().__init__()
        self.top = top

    def forward(self, x):
        return x.clamp_(max=self.top)  # HAZARD[a] saved


class Free(Clipped):
    def forward(self, x):
        return x.clamp(max=self.top).mul_(2)
