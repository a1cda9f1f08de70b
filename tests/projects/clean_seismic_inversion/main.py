"""Waves through a velocity model: a stencil that fills fresh tensors, a custom function that marks what it overwrites.

mechanism: clean; mark_dirty in another file's Function, NamedTuple states, in-place sources on fresh fields, numpy writes to copies, out=
"""
import torch

from waves.inversion import Inversion

RAISES = "nothing"


def good():
    torch.manual_seed(0)
    inversion = Inversion(points=12, lr=0.05)
    traces = torch.randn(4)
    before = inversion.slowness.detach().clone()
    losses = [inversion.step(traces) for _ in range(2)]
    assert len(losses) == 2 and (before != inversion.slowness).any()
    assert inversion.picture().max() <= 1
