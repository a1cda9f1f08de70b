"""torchmetrics 1.9.0, aggregation.py:105: `weight[nans | nans_weight] = 1` of a weight that `broadcast_to` expanded.

The elements of a weight that was a single number are one element of memory: where one value is NaN, all weights of
that update become 1, and the mean is wrong. Here it is 2.75. With the weight 1 for the NaN alone, as the line says, it
is (10 * 1 + 1 * 0 + 1 * 5 + 1 * 5) / (10 + 1 + 1 + 1) = 20 / 13: that is the control.

    python -m pip install --no-deps --target /tmp/found torchmetrics==1.9.0 lightning-utilities packaging numpy
    PYTHONPATH=/tmp/found python docs/found/torchmetrics_mean_weight.py
"""

import sys

import torch
from _confirm import confirm_silent, import_torchvision

import_torchvision()
from torchmetrics.aggregation import BaseAggregator, MeanMetric  # noqa: E402


def mean() -> torch.Tensor:
    metric = MeanMetric(nan_strategy=0.0)
    metric.update(torch.tensor([1.0, float("nan")]), weight=10.0)
    metric.update(torch.tensor([5.0, 5.0]), weight=1.0)
    return metric.compute()


if __name__ == "__main__":
    sys.exit(
        confirm_silent(
            mean,
            BaseAggregator,
            "_cast_and_nan_check_input",
            line="weight[nans | nans_weight] = 1",
            repaired="weight = weight.masked_fill(nans | nans_weight, 1)",
            expected=torch.tensor(20 / 13),
        )
    )
