import torch


def pad(rows, length):
    batch = torch.zeros(len(rows), length, dtype=torch.long)
    for i, row in enumerate(rows):
        batch[i, :len(row)] = torch.tensor(row)
    return batch


def sentences():
    words = pad([[3, 5, 1, 7], [2, 9], [4, 4, 11]], 5)
    tags = words % 3
    tags[words == 0] = -100
    yield words, tags
    yield words.flip(0), tags.flip(0)
