"""Works on its arguments."""

__all__ = ["floor_mask", "scaled"]


def scaled(x, rate):
    return x * rate


def thresholded(x, floor):
    x[x < floor] = 0
    return x


def floor_mask(x, floor):
    mask = x.detach() < floor
    mask |= x.detach().isnan()
    return mask
