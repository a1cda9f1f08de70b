"""transformers 5.23.0, models/dbrx/modeling_dbrx.py:319: the router's `hidden_states *= ...uniform_(...)`, where
`hidden_states` is the tensor that the block hands to the experts as well.

With `moe_jitter_eps` the experts get hidden states with the noise that was made for the router. With `hidden_states =
hidden_states * ...` they get what the norm before them returned: that is the control.

    python -m pip install --no-deps --target /tmp/found transformers==5.23.0 huggingface_hub safetensors tokenizers \
        regex httpx2 httpcore2 truststore h11 anyio idna sniffio tqdm pyyaml packaging filelock numpy
    PYTHONPATH=/tmp/found python docs/found/transformers_dbrx.py
"""

import sys

import torch
from _confirm import confirm_silent, import_torchvision

import_torchvision()
from transformers import DbrxConfig, DbrxForCausalLM  # noqa: E402
from transformers.models.dbrx.modeling_dbrx import DbrxRouter  # noqa: E402


def states() -> tuple[torch.Tensor, torch.Tensor]:
    """The hidden states as the norm returned them, and as the experts got them."""
    torch.manual_seed(0)
    config = DbrxConfig(
        vocab_size=32,
        d_model=16,
        n_heads=2,
        n_layers=1,
        max_seq_len=32,
        attn_config={"kv_n_heads": 1, "clip_qkv": 8.0, "rope_theta": 10000.0},
        ffn_config={"hidden_size": 16, "ffn_hidden_size": 32, "moe_top_k": 2, "moe_jitter_eps": 0.1},
    )
    model = DbrxForCausalLM(config).train()
    block = model.transformer.blocks[0]
    kept = []
    block.norm_attn_norm.norm_2.register_forward_hook(lambda norm, args, result: kept.append(result.clone()))
    block.ffn.experts.register_forward_pre_hook(lambda experts, args: kept.append(args[0].clone()))
    tokens = torch.randint(32, (1, 8))
    model(tokens, labels=tokens).loss.backward()
    returned, got = kept
    return returned.detach(), got.detach()


if __name__ == "__main__":
    sys.exit(
        confirm_silent(
            lambda: states()[1],
            DbrxRouter,
            "forward",
            line="hidden_states *= torch.empty_like",
            repaired="hidden_states = hidden_states * torch.empty_like",
            expected=states()[0],
        )
    )
