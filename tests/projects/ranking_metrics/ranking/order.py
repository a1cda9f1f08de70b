import numpy as np

from .arrays import as_array, own_array, ranks


def lower_median(scores):
    values = as_array(scores)  # SITE[a]
    values.sort()  # HAZARD[a] silent
    return float(values[(len(values) - 1) // 2])


def careful_lower_median(scores):
    values = own_array(scores)
    values.sort()
    return float(values[(len(values) - 1) // 2])


def spread(scores):
    values = np.sort(as_array(scores))
    values -= values[0]
    return float(values[-1])


def area(scores, labels):
    """Area under the ROC curve."""
    r, positive = ranks(as_array(scores)), as_array(labels)
    n = positive.sum()
    below = r[positive].sum() - n * (n - 1) / 2
    return float(below / (n * (len(r) - n)))
