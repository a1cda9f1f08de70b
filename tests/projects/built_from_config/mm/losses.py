import torch
from torch import nn

from .builder import LOSSES


@LOSSES.register_module()
class FocalMargin(nn.Module):
    def __init__(self, margin=0.1):
        super().__init__()
        self.margin = margin

    def forward(self, prob, target):
        prob.sub_(self.margin * target)  # HAZARD[a] margin
        return -(target * prob.clamp(min=1e-3).log()).mean()


@LOSSES.register_module(name=["Brier"])
class BrierLoss(nn.Module):
    def forward(self, prob, target):
        return (prob - target).pow(2).mean()
