"""transformers 5.23.0, models/zamba/modeling_zamba.py:273: `state.copy_(...)` after `state.float() * dA`, which kept
the state of the cache.

A gradient through one token that follows a cache fails, also where the cache was filled under `no_grad`, as here. With
two tokens after the cache it runs (they take another function): that is the control. `mamba_ssm`, with which the
library takes its own kernel instead, has to be absent.

    python -m pip install --no-deps --target /tmp/found transformers==5.23.0 huggingface_hub safetensors tokenizers \
        regex httpx2 httpcore2 truststore h11 anyio idna sniffio tqdm pyyaml packaging filelock numpy
    PYTHONPATH=/tmp/found python docs/found/transformers_zamba.py
"""

import sys

import torch
from _confirm import confirm, import_torchvision

import_torchvision()
from transformers import ZambaConfig, ZambaForCausalLM  # noqa: E402


def train(after: int) -> torch.Tensor:
    torch.manual_seed(0)
    config = ZambaConfig(
        vocab_size=32,
        hidden_size=16,
        attention_hidden_size=32,
        intermediate_size=16,
        num_hidden_layers=5,
        layers_block_type=["mamba", "mamba", "hybrid", "mamba", "hybrid"],
        num_attention_heads=2,
        num_key_value_heads=2,
        n_mamba_heads=2,
        mamba_d_state=4,
        mamba_dt_rank=2,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = ZambaForCausalLM(config)
    tokens = torch.randint(3, 32, (1, 4 + after))
    with torch.no_grad():
        cache = model(tokens[:, :4], use_cache=True).past_key_values
    return model(tokens[:, 4:], past_key_values=cache, use_cache=True).logits.sum()


if __name__ == "__main__":
    sys.exit(confirm(lambda: train(1), control=lambda: train(2)))
