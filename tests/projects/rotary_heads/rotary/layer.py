from torch import nn

from . import heads as H
from .positions import rotate


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.qkv, self.out, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads

    def attend(self, parts):
        weights = parts.q @ parts.k.transpose(-1, -2)
        weights *= parts.width ** -0.5
        return self.out((weights.softmax(-1) @ parts.v).transpose(1, 2).flatten(2))


class UnboundAttention(Attention):
    def forward(self, x):
        parts = H.unbound(self.qkv(x), self.heads)
        parts = parts._replace(q=rotate(parts.q), k=rotate(parts.k))  # SITE[a]
        return self.attend(parts)


class PickedAttention(Attention):
    def forward(self, x):
        parts = H.picked(self.qkv(x), self.heads)
        parts = parts._replace(q=rotate(parts.q), k=rotate(parts.k))
        return self.attend(parts)
