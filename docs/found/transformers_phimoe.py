"""transformers 5.23.0, models/phimoe/modeling_phimoe.py:472: the router's `hidden_states *= ...uniform_(...)`, where
`hidden_states` is the tensor that the block hands to the experts as well.

With `input_jitter_noise` the block has put noise into the hidden states already, and the experts get that of the router
on top of it. With `hidden_states = hidden_states * ...` they get what the block made for them: that is the control.

    python -m pip install --no-deps --target /tmp/found transformers==5.23.0 huggingface_hub safetensors tokenizers \
        regex httpx2 httpcore2 truststore h11 anyio idna sniffio tqdm pyyaml packaging filelock numpy
    PYTHONPATH=/tmp/found python docs/found/transformers_phimoe.py
"""

import sys

import torch
from _confirm import confirm_silent, import_torchvision

import_torchvision()
from transformers import PhimoeConfig  # noqa: E402
from transformers.models.phimoe.modeling_phimoe import PhimoeForCausalLM, PhimoeTopKRouter  # noqa: E402


def states() -> tuple[torch.Tensor, torch.Tensor]:
    """The hidden states as the block hands them to its router, and as the experts got them."""
    torch.manual_seed(0)
    config = PhimoeConfig(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        num_local_experts=2,
        num_experts_per_tok=2,
        max_position_embeddings=32,
        input_jitter_noise=0.1,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = PhimoeForCausalLM(config).train()
    block = model.model.layers[0].mlp
    kept = []
    block.router.register_forward_pre_hook(lambda router, args: kept.append(args[0].clone()))
    block.experts.register_forward_pre_hook(lambda experts, args: kept.append(args[0].clone()))
    tokens = torch.randint(3, 32, (1, 8))
    model(tokens, labels=tokens).loss.backward()
    handed, got = kept
    return handed.detach(), got.detach()


if __name__ == "__main__":
    sys.exit(
        confirm_silent(
            lambda: states()[1],
            PhimoeTopKRouter,
            "forward",
            line="hidden_states *= torch.empty_like",
            repaired="hidden_states = hidden_states * torch.empty_like",
            expected=states()[0],
        )
    )
