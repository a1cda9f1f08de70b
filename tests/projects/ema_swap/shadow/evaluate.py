from functools import wraps

import torch

from .weights import averaged, backup_copy


def on_average(**options):
    """Evaluates with average weights."""

    def decorate(function):
        @wraps(function)
        def wrapped(model, shadow, *args):
            with averaged(model, shadow, **options):  # SITE[a]
                return function(model, *args)

        return wrapped

    return decorate


@torch.no_grad()
def error(model, x, y):
    gap = model(x)
    gap -= y
    return gap.abs_().max().item()


evaluate = on_average()(error)  # SITE[a]
evaluate_carefully = on_average(keep=backup_copy)(error)
