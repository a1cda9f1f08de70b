"""timm 1.0.31, timm/models/tnt.py:65: the dropout of the attention is in place, after a softmax that kept its result.

Training TNT with `attn_drop_rate` above 0 fails. With the default 0 it runs: that is the control.

    python -m pip install --no-deps --target /tmp/found timm==1.0.31 torchvision==0.29.2 pillow huggingface_hub \
        safetensors httpx2 httpcore2 truststore h11 anyio idna sniffio tqdm pyyaml packaging filelock
    PYTHONPATH=/tmp/found python docs/found/timm_tnt.py
"""

import sys

import torch
from _confirm import confirm, import_torchvision

import_torchvision()
from timm.models import create_model  # noqa: E402


def train(attn_drop_rate: float) -> torch.Tensor:
    torch.manual_seed(0)
    model = create_model("tnt_s_legacy_patch16_224", depth=1, attn_drop_rate=attn_drop_rate)
    return model(torch.randn(1, 3, 224, 224)).sum()


if __name__ == "__main__":
    sys.exit(confirm(lambda: train(0.1), control=lambda: train(0.0)))
