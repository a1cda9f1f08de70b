def _mask(x, rate):
    return x.new_empty(x.shape[0], *[1] * (x.ndim - 1)).bernoulli_(1 - rate)


def drop_path(x, rate=0.1, inplace=False):
    mask = _mask(x, rate)
    mask.div_(1 - rate)
    if inplace:
        return x.mul_(mask)  # HAZARD[a] saved
    return x * mask


def drop_block(x, rate=0.1):
    return x * _mask(x, rate)
