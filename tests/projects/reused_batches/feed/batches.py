import torch


def order(n, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randperm(n, generator=generator)


def reused(data, size, seed=0):
    """Batches in one buffer, to spare the allocator."""
    buffer = torch.empty(size, data.size(1))
    for rows in order(len(data), seed).split(size):
        torch.index_select(data, 0, rows, out=buffer)  # HAZARD[a] saved
        yield buffer


def fresh(data, size, seed=0):
    for rows in order(len(data), seed).split(size):
        batch = data[rows]
        batch -= batch.mean(0)
        yield batch
