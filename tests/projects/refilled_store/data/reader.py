import torch


def as_batch(store):
    return torch.from_numpy(store.view())


def as_copy(store):
    return torch.from_numpy(store.view().copy())
