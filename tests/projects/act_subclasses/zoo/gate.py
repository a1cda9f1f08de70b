from torch import nn

from .acts import Activation


class GatedNet(nn.Module):
    def __init__(self, width, act="identity"):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.act = Activation.make(act)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        gate = self.inner(x).exp()
        gate = self.act(gate)  # SITE[a]
        return self.head(gate * x)
