import torch

from transforms import Compose, Jitter, Standardize


def rows(data, size):
    for i in range(0, len(data), size):
        yield data[i:i + size]


def prefetched(data, size):
    """One buffer; it is refilled when the consumer asks for the next batch, after its backward."""
    buffer = torch.empty(size, data.size(1))
    for batch in rows(data, size):
        buffer.copy_(batch)
        yield buffer
    buffer.zero_()


def augmented(data, size, transform=Compose([Standardize(), Jitter(0.1)])):
    for batch in rows(data, size):
        yield transform(batch.clone())


def endless(data, size):
    while True:
        yield from augmented(data, size)
