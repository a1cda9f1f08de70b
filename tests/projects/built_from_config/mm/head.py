import torch
from torch import nn

from .builder import build_loss


class Head(nn.Module):
    def __init__(self, loss=dict(type="FocalMargin", margin=0.2)):
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.loss = build_loss(loss)

    def loss_by_feat(self, x, target):
        prob = self.fc(x).softmax(-1)
        return self.loss(prob, target)  # SITE[a]
