import numpy as np


def as_array(tensor):
    """For NumPy, wherever the tensor is."""
    return tensor.detach().cpu().numpy()


def own_array(tensor):
    return np.array(as_array(tensor))


def ranks(array):
    order = array.argsort()
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return ranks
