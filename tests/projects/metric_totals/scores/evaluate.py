import torch

from .functional import mean_square


@torch.no_grad()
def run_epoch(metric_class, batches):
    metric, history = metric_class(), []
    for batch in batches:
        value = mean_square(batch)
        metric.update(value)  # SITE[a]
        history.append(value)  # SITE[a]
    return history  # SITE[a]


def report(batches):
    from .base import Metric

    metric = Metric()
    history = []
    for batch in batches:
        value = mean_square(batch)
        history.append(value)  # SITE[a]
        metric.update(value)  # SITE[a]
    return metric.compute(), torch.stack(history)  # SITE[a]
