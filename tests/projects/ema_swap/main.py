"""While the context lasts, the model has the average weights; the backup refers to the weights that it overwrites.

mechanism: context manager of another file, backup by .data without a copy, used by a decorator in a third file; silent
"""
import torch

from shadow.evaluate import evaluate, evaluate_carefully
from shadow.model import Regressor
from shadow.weights import Shadow

RAISES = "silent"


def weights(evaluation):
    """The model's weights after an evaluation, and before."""
    torch.manual_seed(0)
    model = Regressor(3)
    shadow = Shadow(model, decay=0.5)
    x = torch.rand(8, 3)
    y = x.sum(1).mul_(2).sub_(1)
    for _ in range(5):
        model.step(x, y)
        shadow.update(model)
    before = model.first.weight.detach().clone()
    error = evaluation(model, shadow, x, y)
    assert error >= 0
    return model.first.weight.detach(), before


def bad():
    return weights(evaluate)  # SITE[a]


def good():
    return weights(evaluate_carefully)
