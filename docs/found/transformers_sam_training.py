"""transformers 5.23.0, models/sam/modeling_sam.py:387: `queries += target_embedding` in the second layer, where
`queries` is what the first layer returned, and its last linear layer kept.

Training SAM with a `target_embedding` fails. Without one it runs: that is the control.

    python -m pip install --no-deps --target /tmp/found transformers==5.23.0 huggingface_hub safetensors tokenizers \
        regex httpx2 httpcore2 truststore h11 anyio idna sniffio tqdm pyyaml packaging filelock numpy
    PYTHONPATH=/tmp/found python docs/found/transformers_sam_training.py
"""

import sys

import torch
from _confirm import confirm
from transformers_sam import masks


def train(target: bool) -> torch.Tensor:
    return masks(target).sum()


if __name__ == "__main__":
    sys.exit(confirm(lambda: train(True), control=lambda: train(False)))
