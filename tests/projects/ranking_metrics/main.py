"""The threshold helper sorts the scores' memory through NumPy; the accuracy afterwards compares scores of other rows.

mechanism: tensor.numpy() in a helper of another file, ndarray.sort() in a third one; silent
"""
import torch

from ranking.evaluate import CarefulEvaluation, Evaluation
from ranking.scorer import Scorer

RAISES = "silent"


def items():
    generator = torch.Generator().manual_seed(8)
    x = torch.rand(12, 3, generator=generator)
    x[::2] += 1
    return x


def accuracies(cls):
    """Share of the items on the right side of the median, and what it is by torch.median."""
    torch.manual_seed(0)
    scorer = Scorer(3)
    x = items()
    scores = scorer(x).detach()
    labels = scores > scores.median()
    report = cls(scorer).report(x, labels)
    return report["accuracy"], torch.ones(())


def bad():
    return accuracies(Evaluation)


def good():
    return accuracies(CarefulEvaluation)
