"""The uniform prior is a row expanded to all documents; the encoder multiplies it in place by the documents' lengths.

mechanism: `from .priors import *` with __all__, helper returns an expanded tensor, dispatch by a dict in config
"""
import torch

from topics.config import CONFIG
from topics.encoder import Encoder, evidence_bound

RAISES = "more than one element of the written-to tensor"


def train(prior):
    torch.manual_seed(0)
    cfg = {**CONFIG, "prior": prior}
    model = Encoder(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    counts = torch.randint(0, 4, (5, cfg["words"])).float()
    optimizer.zero_grad()
    evidence_bound(model, counts).backward()
    optimizer.step()


def bad():
    train("uniform")


def good():
    train("fitted")
