import numpy as np

from data.reader import as_batch, as_copy
from data.store import Store


def collect(count, copy):
    store = Store(2, 2)
    batches = []
    for first in range(count):
        for row in range(2):
            store.push(np.full(2, 2 * first + row))  # SITE[a]
        batches.append(as_copy(store) if copy else as_batch(store))
    return batches
