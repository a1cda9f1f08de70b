"""A reef counter with hooks on its layers that clamp in place what nobody keeps, and gradient hooks that return new ones.

mechanism: clean; forward hooks registered in another file overwrite outputs of Linear, before an in-place ReLU; gradients clipped in a trainer
"""
import torch

from reef.counter import Counter
from reef.guard import guard
from reef.training import fit

RAISES = "nothing"


def good():
    torch.manual_seed(0)
    model = Counter(channels=3, width=6)
    seen = guard(model)
    losses = fit(model, torch.rand(4, 9, 3), torch.randint(0, 5, (4,)).float(), steps=2)
    assert len(losses) == 2 and len(seen) == 4
