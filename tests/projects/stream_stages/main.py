"""Stages are generators, chained; the jitter stage overwrites what the encoder stage has saved.

mechanism: generator pipeline over files, stages composed with functools.reduce
"""
import functools

import torch

from stream.encode import Encode
from stream.stages import jitter, jittered

RAISES = "modified by an inplace operation"


def run(stages):
    torch.manual_seed(0)
    batches = [torch.randn(3, 4) for _ in range(2)]
    stream = functools.reduce(lambda s, stage: stage(s), stages, iter(batches))
    total = sum(h.mean() for h in stream)
    total.backward()


def bad():
    run([Encode(4), jitter])  # SITE[a]


def good():
    run([Encode(4), jittered])
