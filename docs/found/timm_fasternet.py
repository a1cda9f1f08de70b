"""timm 1.0.31, timm/models/fasternet.py:55: the result of a convolution is written over the slice that it read.

Training FasterNet with `pconv_fw_type="slicing"` fails. A comment in the source says "only for inference", the option
itself does not. With the default "split_cat" training runs: that is the control.

    python -m pip install --no-deps --target /tmp/found timm==1.0.31 torchvision==0.29.2 pillow huggingface_hub \
        safetensors httpx2 httpcore2 truststore h11 anyio idna sniffio tqdm pyyaml packaging filelock
    PYTHONPATH=/tmp/found python docs/found/timm_fasternet.py
"""

import sys

import torch
from _confirm import confirm, import_torchvision

import_torchvision()
from timm.models import create_model  # noqa: E402


def train(pconv_fw_type: str) -> torch.Tensor:
    torch.manual_seed(0)
    model = create_model("fasternet_t0", pconv_fw_type=pconv_fw_type)
    return model(torch.randn(2, 3, 64, 64)).sum()


if __name__ == "__main__":
    sys.exit(confirm(lambda: train("slicing"), control=lambda: train("split_cat")))
