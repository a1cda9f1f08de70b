"""transformers 5.23.0: the line of `transformers_sam.py`, `queries += target_embedding`, in the other seven models that
have it. Of each only the two-way transformer is run.

    python -m pip install --no-deps --target /tmp/found transformers==5.23.0 huggingface_hub safetensors tokenizers \
        regex httpx2 httpcore2 truststore h11 anyio idna sniffio tqdm pyyaml packaging filelock numpy
    PYTHONPATH=/tmp/found python docs/found/transformers_sam_family.py
"""

import contextlib
import importlib
import io
import sys

import torch
from _confirm import confirm, confirm_silent, import_torchvision

MODELS = {
    "edgetam": "EdgeTam",
    "edgetam_video": "EdgeTamVideo",
    "sam2": "Sam2",
    "sam2_video": "Sam2Video",
    "sam3_tracker": "Sam3Tracker",
    "sam3_tracker_video": "Sam3TrackerVideo",
    "sam_hq": "SamHQ",
}


def check(model: str, prefix: str) -> int:
    modeling = importlib.import_module(f"transformers.models.{model}.modeling_{model}")
    configuration = importlib.import_module(f"transformers.models.{model}.configuration_{model}")
    transformer = getattr(modeling, f"{prefix}TwoWayTransformer")

    def queries(target: bool = True) -> torch.Tensor:
        torch.manual_seed(0)
        config = getattr(configuration, f"{prefix}MaskDecoderConfig")(
            hidden_size=16, mlp_dim=32, num_hidden_layers=2, num_attention_heads=2
        )
        config._attn_implementation = "eager"
        result, _ = transformer(config)(
            point_embeddings=torch.randn(1, 1, 5, 16),
            image_embeddings=torch.randn(1, 16, 4, 4),
            image_positional_embeddings=torch.randn(1, 16, 4, 4),
            attention_similarity=None,
            target_embedding=torch.randn(1, 1, 1, 16) if target else None,
        )
        return result

    with torch.no_grad():
        silent = confirm_silent(
            queries,
            transformer,
            "forward",
            line="queries += target_embedding",
            repaired="queries = queries + target_embedding",
        )
    return silent or confirm(lambda: queries().sum(), control=lambda: queries(target=False).sum())


if __name__ == "__main__":
    import_torchvision()
    with contextlib.redirect_stdout(io.StringIO()):
        wrong = [model for model, prefix in MODELS.items() if check(model, prefix) == 0]
    if len(wrong) == len(MODELS):
        print(f"confirmed: the result differs, and the training fails, in {', '.join(wrong)}")
        sys.exit(0)
    print(f"not confirmed: {', '.join(MODELS.keys() - wrong)}")
    sys.exit(1)
