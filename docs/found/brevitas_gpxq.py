"""brevitas 0.13.4, brevitas/graph/gpxq.py:221: `weight_shape[1], weight_shape[0] = weight_shape[0], weight_shape[1]`
of a tensor.

The right side are views. The first assignment overwrites what the second reads, and both entries become what the
second one was: a transposed convolution from 5 to 3 channels is said to have 5 rows.

    python -m pip install --no-deps --target /tmp/found brevitas==0.13.4 unfoldNd dependencies==2.0.1
    PYTHONPATH=/tmp/found python docs/found/brevitas_gpxq.py
"""

import sys

import torch
from _confirm import confirm_silent
from brevitas.graph.gpfq import GPFQ
from brevitas.graph.gpxq import GPxQ


def shape() -> torch.Tensor:
    layer = torch.nn.ConvTranspose2d(5, 3, kernel_size=2)
    quantizer = GPFQ(layer, "layer", act_order=False, len_parallel_layers=1, create_weight_orig=False)
    return torch.stack([quantizer.rows, quantizer.columns]).float()


if __name__ == "__main__":
    line = "weight_shape[1], weight_shape[0] = weight_shape[0], weight_shape[1]"
    repaired = "weight_shape[1], weight_shape[0] = weight_shape[0].clone(), weight_shape[1].clone()"
    expected = torch.tensor([3.0, 5.0 * 2 * 2])  # output channels; input channels, once for each weight of the kernel
    sys.exit(confirm_silent(shape, GPxQ, "__init__", line, repaired, expected))
