"""The metric takes the first value as its total and adds to it: the history's first entry grows with it.

mechanism: base class of metrics in another file, value kept by the caller as well
"""
import torch

from scores.base import FreshMetric, Metric
from scores.evaluate import run_epoch

RAISES = "silent"


def run(cls):
    torch.manual_seed(0)
    history = run_epoch(cls, [torch.ones(2) * k for k in (1.0, 2.0, 3.0)])
    return torch.stack(history), torch.tensor([1.0, 4.0, 9.0])


def bad():
    return run(Metric)


def good():
    return run(FreshMetric)
