import torch
from torch import nn

from ..ops import apc
from ..registry import register


class PairHead(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.left, self.right = nn.Linear(width, width), nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def logits(self, residues):
        x = self.norm(residues)
        pairs = self.left(x) @ self.right(x).transpose(1, 2)
        return pairs + pairs.transpose(1, 2)


@register("corrected")
class CorrectedHead(PairHead):
    def forward(self, residues):
        probabilities = torch.sigmoid(self.logits(residues))
        return apc(probabilities)  # SITE[a]


@register("corrected_logits")
class CorrectedLogitsHead(PairHead):
    def forward(self, residues):
        logits = apc(self.logits(residues))
        return torch.sigmoid(logits)
