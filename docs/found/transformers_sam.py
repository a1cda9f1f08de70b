"""transformers 5.23.0, models/sam/modeling_sam.py:387: `queries += target_embedding`, where `queries` is also
`point_embeddings`.

`point_embeddings` is read afterwards, as the position of the queries in each layer and at the end, and has the target
embedding in it by then. The masks differ from those of `queries = queries + target_embedding`.

    python -m pip install --no-deps --target /tmp/found transformers==5.23.0 huggingface_hub safetensors tokenizers \
        regex httpx2 httpcore2 truststore h11 anyio idna sniffio tqdm pyyaml packaging filelock numpy
    PYTHONPATH=/tmp/found python docs/found/transformers_sam.py
"""

import sys

import torch
from _confirm import confirm_silent, import_torchvision

import_torchvision()
from transformers import SamConfig, SamModel  # noqa: E402
from transformers.models.sam.modeling_sam import SamTwoWayTransformer  # noqa: E402


def model() -> SamModel:
    torch.manual_seed(0)
    config = SamConfig(
        vision_config={
            "hidden_size": 16,
            "output_channels": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "image_size": 64,
            "mlp_dim": 16,
            "num_pos_feats": 16,
            "global_attn_indexes": [],
        },
        prompt_encoder_config={"hidden_size": 32, "image_size": 64, "mask_input_channels": 8},
        mask_decoder_config={
            "hidden_size": 32,
            "mlp_dim": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "iou_head_hidden_dim": 16,
        },
        initializer_range=0.3,
    )
    return SamModel(config)


def masks(target: bool = True) -> torch.Tensor:
    sam = model()
    torch.manual_seed(1)
    return sam(
        pixel_values=torch.randn(1, 3, 64, 64),
        input_points=torch.rand(1, 1, 1, 2) * 64,
        target_embedding=torch.randn(1, 1, 1, 32) if target else None,
    ).pred_masks


if __name__ == "__main__":
    with torch.no_grad():
        sys.exit(
            confirm_silent(
                masks,
                SamTwoWayTransformer,
                "forward",
                line="queries += target_embedding",
                repaired="queries = queries + target_embedding",
            )
        )
