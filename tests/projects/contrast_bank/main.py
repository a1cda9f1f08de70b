"""New keys are enqueued in place, under no_grad, in the bank that the product of the logits keeps for backward.

mechanism: circular import, bank object of another file with a no_grad method that overwrites its own buffer
"""
import torch

from contrast.model import CopyingContrast, EagerContrast

RAISES = "modified by an inplace operation"


def train(cls):
    torch.manual_seed(0)
    model = cls()
    optimizer = torch.optim.SGD(model.query.parameters(), lr=0.1)
    for _ in range(2):
        cells = torch.randn(4, 6)
        logits = model(cells + 0.1 * torch.randn(4, 6), cells)
        loss = torch.nn.functional.cross_entropy(logits, torch.zeros(4, dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.follow()


def bad():
    train(EagerContrast)


def good():
    train(CopyingContrast)
