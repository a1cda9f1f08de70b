import torch
from torch import nn

from nested.generic import copied, rescale


class TwoHeads(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a = nn.Linear(width, 2)
        self.b = nn.Linear(width, 2)

    def heads(self, x):
        return {"a": torch.sigmoid(self.a(x)), "b": self.b(x)}

    def forward(self, x):
        return rescale(self.heads(x), 0.5)  # SITE[a]


class TwoHeadsCopy(TwoHeads):
    def forward(self, x):
        return rescale(copied(self.heads(x)), 0.5)
