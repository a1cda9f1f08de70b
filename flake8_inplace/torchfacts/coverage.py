"""The names of PyTorch that have no row, and why: `python -m flake8_inplace.torchfacts.coverage`. Development only."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from types import ModuleType

import torch
import torch.masked

from . import modules, ops

PACKAGES: dict[str, ModuleType] = {
    "torch": torch,
    "torch.nn.functional": torch.nn.functional,
    "torch.linalg": torch.linalg,
    "torch.fft": torch.fft,
    "torch.special": torch.special,
    "torch.masked": torch.masked,
}

REASONS: dict[str, str] = {
    r"Tensor\.(data|grad|index|indices|values|dequantize|backward|__\w+__)|Tensor\.(register|retain)_\w+": (
        "part of the engine, or of another layout; those that matter have a model"
    ),
    r"Tensor\.(is_|has_|q_|get_|storage|untyped_storage|data_ptr|const_data_ptr|dim|ndim|size|shape|stride|numel"
    r"|nelement|nbytes|element_size|itemsize|item|tolist|numpy|name|dtype|device|layout|output_nr"
    r"|requires_grad|grad_\w+|retains_grad|volatile|qscheme|int_repr|record_stream|module_load"
    r"|reinforce)\w*": "no tensor of floats comes out",
    r"(torch|Tensor)\.(eig|lstsq|lstsq|matrix_rank|solve|symeig|resize|resize_as|lobpcg)": (
        "removed or deprecated; or no operator of autograd"
    ),
    r"(torch|Tensor)\.(\w*sparse\w*|\w*ccol\w*|\w*crow\w*|\w*col_indices\w*|\w*row_indices\w*"
    r"|hsmm|hspmm|smm|dsmm|saddmm|spmm|sspaddmm|to_mkldnn|indices_copy"
    r"|values_copy)": "sparse or opaque memory, which has no version that is compared",
    r"torch\.(fbgemm|quantize|quantized|choose_qparams|fused_moving|q_|int_repr|dequantize|empty_quantized)\w*": (
        "quantized tensors have no gradient"
    ),
    r"torch\.(cudnn|miopen|mkldnn)_\w+": "the kernels behind public operators, for one library each",
    r"torch\.(batch_norm_\w+|native_norm|embedding_renorm_|embedding_bag|gru|lstm|rnn_tanh|rnn_relu)": (
        "what the layers of torch.nn are made of; the layers and functions have rows"
    ),
    r"torch\.nn\.functional\.(scaled_mm|grouped_mm|scaled_grouped_mm)": "for CUDA only, which is not measured",
    r"torch\.(vmap|cond|compile|while_loop|autocast_\w+|fork|wait)": "takes a function; a model, or unknown code",
    r"torch\.(\w*parse\w*|import_ir\w*|merge_type\w*|unify_type\w*|sym_\w+|get_\w+|set_\w+|is_\w+|use_\w+"
    r"|are_\w+|can_cast"
    r"|promote_types|result_type|typename|init_num_threads|initial_seed|manual_seed|seed|load|save"
    r"|clear_autocast_cache"
    r"|cudnn_is_acceptable|thread_safe_generator)|torch\.nn\.functional\.(assert_\w+|boolean_dispatch"
    r"|handle_torch_\w+"
    r"|has_torch_\w+)": "sets, asks or checks something: no tensor is computed",
    r"torch\.nn\.(Buffer|Parameter|Uninitialized\w+|LinearCrossEntropyOptions|Container|Module|ModuleDict|ModuleList"
    r"|ParameterDict|ParameterList|RNNBase|RNNCellBase|Sequential|DataParallel)": "no layer of its own: a model",
}
"""Why names have no row, by patterns of whole names."""


def public_names() -> Iterator[str]:
    """The public functions, methods and layers in which a tensor might be saved."""
    for path, package in PACKAGES.items():
        for name in getattr(package, "__all__", None) or dir(package):
            thing = getattr(package, name, None)
            if not name.startswith("_") and callable(thing) and not isinstance(thing, type) and name[0].islower():
                yield f"{path}.{name}"
    yield from (f"Tensor.{name}" for name in dir(torch.Tensor) if not name.startswith("_"))
    yield from (f"torch.nn.{name}" for name in dir(torch.nn) if isinstance(getattr(torch.nn, name), type))


def without_row() -> dict[str, str | None]:
    """The names that no table knows, each with the reason, or None where there is no reason."""
    known = ops.names() | modules.names()
    missing = sorted(set(public_names()) - known)
    return {name: next((why for text, why in REASONS.items() if re.fullmatch(text, name)), None) for name in missing}


def table() -> str:
    """The names by reason, as a table in Markdown."""
    found = without_row()
    rows = [f"| {why} | {', '.join(f'`{n}`' for n, w in found.items() if w == why)} |" for why in REASONS.values()]
    covered = len(set(public_names())) - len(found)
    return "\n".join([f"{covered} names have a row, {len(found)} have none.\n", "| why | names |", "|---|---|", *rows])


if __name__ == "__main__":
    print(table())
    sys.exit(int(None in without_row().values()))
