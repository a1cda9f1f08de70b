from .table import register


def _max(x):
    x.sub_(1)  # HAZARD[a] saved
    return x.max(0).values


def _mean(x):
    x = x.mean(0)
    x.sub_(1)
    return x


register("max", _max)
register("mean", _mean)
