from .core import Filter


class Median(Filter):
    label = "median"

    def __call__(self, x):
        return x - x.median()


class Notch(Filter):
    label = "notch"

    def __call__(self, x):
        x[..., 2] = 0  # HAZARD[a] notch
        return x
