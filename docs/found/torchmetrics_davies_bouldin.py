"""torchmetrics 1.9.0, functional/clustering/davies_bouldin_score.py:63: the result of cdist, which kept it, is written.

Every gradient of the Davies-Bouldin score fails. The metric declares `is_differentiable = True`.

    python -m pip install --no-deps --target /tmp/found torchmetrics==1.9.0 lightning-utilities packaging numpy
    PYTHONPATH=/tmp/found python docs/found/torchmetrics_davies_bouldin.py
"""

import sys

import torch
from _confirm import confirm, import_torchvision

import_torchvision()
from torchmetrics.clustering import DaviesBouldinScore  # noqa: E402


def loss() -> torch.Tensor:
    assert DaviesBouldinScore.is_differentiable
    torch.manual_seed(0)
    embedding = torch.randn(20, 3, requires_grad=True)
    return DaviesBouldinScore()(embedding, torch.arange(20) % 3)


if __name__ == "__main__":
    sys.exit(confirm(loss))
