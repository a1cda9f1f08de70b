import torch
from torch import nn

from .priors import *


class Encoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.body = nn.Sequential(nn.Linear(cfg["words"], 16), nn.ReLU(inplace=True), nn.Linear(16, cfg["topics"]))
        self.words = nn.Linear(cfg["topics"], cfg["words"])

    def forward(self, counts):
        return self.body(counts).log_softmax(-1)

    def uniform_weight(self, counts):
        prior = uniform_prior(len(counts), self.cfg["topics"])
        prior *= counts.sum(1, keepdim=True)  # HAZARD[a] other
        return prior

    def fitted_weight(self, counts):
        prior = fitted_prior(len(counts), self.cfg["topics"])
        prior *= counts.sum(1, keepdim=True)
        return prior


def evidence_bound(model, counts):
    log_share = model(counts)
    weigh = model.uniform_weight if model.cfg["prior"] == "uniform" else model.fitted_weight
    prior = weigh(counts)
    fit = -(counts * model.words(log_share.exp()).log_softmax(-1)).sum(1)
    fit -= (prior * log_share).sum(1)
    return fit.mean()
