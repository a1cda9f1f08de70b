"""Mixing of hidden features falls back to a slow function of the project, which writes to features that relu kept.

mechanism: try/except ImportError fallback, module imported lazily inside forward(), writer in the fallback file
"""
import torch

from birds.classifier import Classifier, EarlyMixing

RAISES = "modified by an inplace operation"


def train(cls):
    torch.manual_seed(0)
    model = cls(mels=8, species=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    clips, labels = torch.randn(6, 8, 12), torch.randint(0, 4, (6,))
    logits, partner, share = model(clips)
    ce = torch.nn.functional.cross_entropy
    loss = share * ce(logits, labels) + (1 - share) * ce(logits, labels[partner])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def bad():
    train(Classifier)


def good():
    train(EarlyMixing)
