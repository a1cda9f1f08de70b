"""transformers 5.23.0, models/minimax/modeling_minimax.py:520: the experts' `hidden_states *= ...uniform_(...)`, where
`hidden_states` is the tensor that the layer has kept as its residual.

With `router_jitter_noise` the residual that the layer adds to the result of the experts has their noise in it. With
`hidden_states = hidden_states * ...` it is what the norm before them returned: that is the control. Mixtral has the
same line and keeps its residual before the norm, so there the line does no such thing.

    python -m pip install --no-deps --target /tmp/found transformers==5.23.0 huggingface_hub safetensors tokenizers \
        regex httpx2 httpcore2 truststore h11 anyio idna sniffio tqdm pyyaml packaging filelock numpy
    PYTHONPATH=/tmp/found python docs/found/transformers_minimax.py
"""

import sys

import torch
from _confirm import confirm_silent, import_torchvision

import_torchvision()
from transformers import MiniMaxConfig  # noqa: E402
from transformers.models.minimax.modeling_minimax import MiniMaxForCausalLM, MiniMaxSparseMoeBlock  # noqa: E402


def residuals() -> tuple[torch.Tensor, torch.Tensor]:
    """What the norm before the experts returned, and the same tensor once the layer has added it: its residual."""
    torch.manual_seed(0)
    config = MiniMaxConfig(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        num_local_experts=2,
        num_experts_per_tok=1,
        layer_types=["full_attention"],
        router_jitter_noise=0.1,
    )
    model = MiniMaxForCausalLM(config).train()
    layer = model.model.layers[0]
    returned, residual = [], []
    layer.post_attention_layernorm.register_forward_hook(lambda norm, args, result: returned.append(result.clone()))
    layer.post_attention_layernorm.register_forward_hook(lambda norm, args, result: residual.append(result))
    tokens = torch.randint(32, (1, 8))
    model(tokens, labels=tokens).loss.backward()
    return returned[0].detach(), residual[0].detach()


if __name__ == "__main__":
    sys.exit(
        confirm_silent(
            lambda: residuals()[1],
            MiniMaxSparseMoeBlock,
            "forward",
            line="hidden_states *= torch.empty_like",
            repaired="hidden_states = hidden_states * torch.empty_like",
            expected=residuals()[0],
        )
    )
