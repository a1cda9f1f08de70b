"""Plugins of a pipeline are named as "module:attribute" in a table and loaded on demand.

mechanism: importlib.import_module of the part before the colon, getattr of the part behind it
"""
import torch

from pipeline.run import Pipeline

RAISES = "modified by an inplace operation"


def fit(steps):
    torch.manual_seed(0)
    pipe = Pipeline(steps)
    w = torch.rand(5, requires_grad=True)
    pipe(w).sum().backward()  # SITE[a]


def bad():
    fit(("soft", "floor"))


def good():
    fit(("soft", "floor_copy"))
