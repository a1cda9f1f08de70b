import torch

import feed
from model import AutoEncoder


def accumulate(model, batches):
    """One gradient of all batches together."""
    total = 0.0
    for batch in batches:  # SITE[a]
        total = total + model.error(batch)
    total.backward()
    return total.item()


def epoch(data, size, source):
    model = AutoEncoder(data.size(1), 3)
    return accumulate(model, source(data, size))


def epoch_reused(data, size):
    model = AutoEncoder(data.size(1), 3)
    return accumulate(model, feed.reused(data, size))  # SITE[a]
