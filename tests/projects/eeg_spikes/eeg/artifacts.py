import numpy as np


def _as_array(x):
    return x.detach().cpu().numpy()


def _blank(values, limit):
    spikes = np.abs(values) > limit
    values[spikes] = 0.0  # HAZARD[a] silent
    return int(spikes.sum())


def count_spikes(features, limit=0.6):
    """Number of artifacts."""
    return _blank(_as_array(features), limit)  # SITE[a]


def count_spikes_of_copy(features, limit=0.6):
    return _blank(_as_array(features).copy(), limit)
