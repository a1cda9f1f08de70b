"""transformers 5.23.0: the line of Zamba (transformers_zamba.py) in four more models: mamba/modeling_mamba.py:158,
falcon_mamba/modeling_falcon_mamba.py:173, mamba2/modeling_mamba2.py:232 and jamba/modeling_jamba.py:318.

A gradient through one token that follows a cache fails in each. With two tokens after the cache it runs: that is the
control. `mamba_ssm` has to be absent.

    python -m pip install --no-deps --target /tmp/found transformers==5.23.0 huggingface_hub safetensors tokenizers \
        regex httpx2 httpcore2 truststore h11 anyio idna sniffio tqdm pyyaml packaging filelock numpy
    PYTHONPATH=/tmp/found python docs/found/transformers_mamba_family.py
"""

import sys
from functools import partial

import torch
from _confirm import confirm, import_torchvision

import_torchvision()
import transformers  # noqa: E402

COMMON = {
    "vocab_size": 32,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
MODELS = {
    "Mamba": {"state_size": 4},
    "FalconMamba": {"state_size": 4},
    "Mamba2": {"state_size": 4, "num_heads": 4, "head_dim": 8, "n_groups": 1},
    "Jamba": {
        "intermediate_size": 16,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "num_experts": 1,
        "mamba_d_state": 4,
    },
}


def train(name: str, after: int) -> torch.Tensor:
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**COMMON, **MODELS[name])
    model = getattr(transformers, f"{name}ForCausalLM")(config)
    cache = "past_key_values" if name == "Jamba" else "cache_params"
    tokens = torch.randint(3, 32, (1, 4 + after))
    with torch.no_grad():
        filled = getattr(model(tokens[:, :4], use_cache=True), cache)
    return model(tokens[:, 4:], use_cache=True, **{cache: filled}).logits.sum()


if __name__ == "__main__":
    statuses = []
    for name in MODELS:
        print(name, end=": ", flush=True)
        statuses.append(confirm(partial(train, name, 1), control=partial(train, name, 2)))
    sys.exit(max(statuses))
