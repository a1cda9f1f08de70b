"""A pruning probe, registered as forward hook on every Softmax, zeroes small weights in the output that softmax keeps.

mechanism: forward hook registered in another file by isinstance, hook overwrites the module's output
"""
import torch

from probes import attach_pruning, attach_soft_pruning
from reader.model import Reader

RAISES = "modified by an inplace operation"


def train(attach):
    torch.manual_seed(0)
    model = Reader(vocab=11, width=8)
    attach(model)  # SITE[a]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens, answers = torch.randint(0, 11, (3, 6)), torch.randint(0, 2, (3,))
    loss = torch.nn.functional.cross_entropy(model(tokens), answers)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def bad():
    train(attach_pruning)


def good():
    train(attach_soft_pruning)
