"""Batches are refilled in place after the backward that needed them; hooks change gradients and shadows in place.

mechanism: clean; generators of another file, Compose of in-place transforms on copies, hooks found by name
"""
import torch

import feed
from loop import first, train

RAISES = "nothing"


def good():
    torch.manual_seed(0)
    data = torch.randn(6, 3)
    before = data.clone()
    for source in feed.prefetched, feed.augmented, feed.endless:
        assert train(data, source) > 0
    first(data)
    assert torch.equal(data, before)
