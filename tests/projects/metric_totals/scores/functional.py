def mean_square(batch):
    return batch.square().mean()
