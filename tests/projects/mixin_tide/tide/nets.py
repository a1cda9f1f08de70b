import torch.nn as nn

from .mixins import SafeScaleMixin, ScaleMixin


class _Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x).exp()
        return self.rescale(h)  # SITE[a]


class TideNet(ScaleMixin, _Net):
    pass


class TideNetSafe(SafeScaleMixin, _Net):
    pass
