"""pytorch-metric-learning 2.9.0, losses/dynamic_soft_margin_loss.py:88: `mat.fill_diagonal_()` of what `cdist` saved.

The distance, in another file, is `torch.cdist`, which saves its result. Every gradient of `DynamicSoftMarginLoss` with
a reference and without labels fails.

    python -m pip install --no-deps --target /tmp/found pytorch-metric-learning==2.9.0 tqdm numpy scipy
    PYTHONPATH=/tmp/found python docs/found/pml_dynamic_soft_margin.py
"""

import sys

import torch
from _confirm import confirm
from pytorch_metric_learning.losses import DynamicSoftMarginLoss


def loss() -> torch.Tensor:
    torch.manual_seed(0)
    embeddings = torch.randn(6, 4, requires_grad=True)
    return DynamicSoftMarginLoss()(embeddings, ref_emb=torch.randn(6, 4))


if __name__ == "__main__":
    sys.exit(confirm(loss))
