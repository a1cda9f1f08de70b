__all__ = ["thresholded"]


def thresholded(x, floor):
    x = x.clone()
    x[x < floor] = 0
    return x
