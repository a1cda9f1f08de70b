"""transformers 5.23.0, models/doge/modeling_doge.py:425: `/=` on the result of softmax, which kept it.

Training a Doge mixture-of-experts model with `norm_topk_prob=True` fails. With the default False it runs: that is the
control.

    python -m pip install --no-deps --target /tmp/found transformers==5.23.0 huggingface_hub safetensors tokenizers \
        regex httpx2 httpcore2 truststore h11 anyio idna sniffio tqdm pyyaml packaging filelock numpy
    PYTHONPATH=/tmp/found python docs/found/transformers_doge.py
"""

import sys

import torch
from _confirm import confirm, import_torchvision

import_torchvision()
from transformers import DogeConfig, DogeForCausalLM  # noqa: E402


def train(norm_topk_prob: bool) -> torch.Tensor:
    torch.manual_seed(0)
    config = DogeConfig(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        is_moe=True,
        num_experts=16,
        num_experts_per_tok=4,
        norm_topk_prob=norm_topk_prob,
    )
    tokens = torch.randint(32, (1, 8))
    return DogeForCausalLM(config)(tokens, labels=tokens).loss


if __name__ == "__main__":
    sys.exit(confirm(lambda: train(True), control=lambda: train(False)))
