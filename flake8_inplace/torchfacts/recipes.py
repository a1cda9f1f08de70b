"""Sample calls of functions and methods that `op_db` does not cover, or covers by an unusual path.

Development only. They replace the samples of `op_db`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Call = tuple[tuple[Any, ...], dict[str, Any]]


def f(*shape: int) -> torch.Tensor:
    """Positive floats away from 0 and 1: every formula takes its ordinary branch."""
    return torch.rand(shape) * 0.8 + 0.1


def i(*shape: int) -> torch.Tensor:
    return torch.arange(torch.Size(shape).numel()).reshape(shape) % 3


def b(*shape: int) -> torch.Tensor:
    return i(*shape) == 1


def call(*args: Any, **kwargs: Any) -> Call:
    return args, kwargs


def _pooling(n: int, *options: dict[str, Any]) -> Callable[[], list[Call]]:
    return lambda: [call(f(1, 2, *[6] * n), 2, **chosen) for chosen in options]


_MAX_POOLS = [(n, f"{kind}max_pool{n}d") for n in (1, 2, 3) for kind in ("", "adaptive_")]

RECIPES: dict[str, Callable[[], list[Call]]] = {
    "torch.where": lambda: [
        call(b(3, 3), f(3, 3), f(3, 3)),
        call(b(3, 3), f(3, 3), 1.0),
        call(b(3, 3), 1.0, f(3, 3)),
        call(b(3, 3), 1.0, 0.0),
        call(b(3, 3)),
    ],
    "torch.nn.functional.embedding": lambda: [call(i(4), f(5, 3)), call(i(4, 2), f(5, 3))],
    "torch.nn.functional.embedding_bag": lambda: [
        call(i(4, 2), f(5, 3)),
        call(i(4), f(5, 3), torch.tensor([0, 2])),
        call(i(4, 2), f(5, 3), per_sample_weights=f(4, 2), mode="sum"),
    ],
    "torch.nn.functional.scaled_dot_product_attention": lambda: [
        call(f(1, 2, 4, 8), f(1, 2, 4, 8), f(1, 2, 4, 8)),
        call(f(1, 2, 4, 8), f(1, 2, 4, 8), f(1, 2, 4, 8), is_causal=True),
        call(f(1, 2, 4, 8), f(1, 2, 4, 8), f(1, 2, 4, 8), attn_mask=f(4, 4)),
        *(call(f(1, 2, 4, 8), f(1, 2, 4, 8), f(1, 2, 4, 8), dropout_p=p) for p in (0.0, 0.1, 0.5)),
    ],
    "torch.nn.functional.ctc_loss": lambda: [
        call(f(5, 2, 4).log(), torch.ones(2, 3, dtype=torch.long), torch.tensor([5, 5]), torch.tensor([3, 3]))
    ],
    "torch.norm": lambda: [
        call(f(3, 3)),
        call(f(3, 3), dim=1),
        call(f(3, 3), 2),
        call(f(3, 3), p=1, dim=0, keepdim=True),
    ],
    "torch.tensordot": lambda: [call(f(3, 3), f(3, 3), dims=1), call(f(3, 3), f(3, 3), 2)],
    "torch.einsum": lambda: [call("ij,jk->ik", f(3, 3), f(3, 3)), call("bij,bjk->bik", f(2, 3, 3), f(2, 3, 3))],
    "torch.cdist": lambda: [call(f(3, 4), f(2, 4)), call(f(3, 4), f(2, 4), p=1.0)],
    "torch.block_diag": lambda: [call(f(2, 2), f(3, 3))],
    "torch.cartesian_prod": lambda: [call(f(2), f(3))],
    "torch.chain_matmul": lambda: [call(f(2, 3), f(3, 4), f(4, 2))],
    "torch.conv1d": lambda: [call(f(1, 2, 8), f(3, 2, 3)), call(f(1, 2, 8), f(3, 2, 3), f(3))],
    "torch.conv2d": lambda: [call(f(1, 2, 8, 8), f(3, 2, 3, 3)), call(f(1, 2, 8, 8), f(3, 2, 3, 3), f(3))],
    "torch.conv3d": lambda: [call(f(1, 2, 5, 5, 5), f(3, 2, 3, 3, 3)), call(f(1, 2, 5, 5, 5), f(3, 2, 3, 3, 3), f(3))],
    "torch.dropout": lambda: [call(f(4, 4), 0.5, True)],
    "torch.dropout_": lambda: [call(f(4, 4), 0.5, True)],
    "torch.feature_dropout": lambda: [call(f(4, 4, 4), 0.5, True)],
    "torch.feature_dropout_": lambda: [call(f(4, 4, 4), 0.5, True)],
    "torch.alpha_dropout": lambda: [call(f(4, 4), 0.5, True)],
    "torch.alpha_dropout_": lambda: [call(f(4, 4), 0.5, True)],
    "torch.feature_alpha_dropout": lambda: [call(f(4, 4, 4), 0.5, True)],
    "torch.feature_alpha_dropout_": lambda: [call(f(4, 4, 4), 0.5, True)],
    "torch.batch_norm": lambda: [call(f(4, 3), f(3), f(3), f(3), f(3), True, 0.1, 1e-5, False)],
    "torch.instance_norm": lambda: [call(f(2, 3, 4), f(3), f(3), f(3), f(3), True, 0.1, 1e-5, False)],
    "torch.max_pool1d": lambda: [call(f(1, 2, 8), 2)],
    "torch.max_pool1d_with_indices": lambda: [call(f(1, 2, 8), 2)],
    "torch.max_pool2d": lambda: [call(f(1, 2, 8, 8), 2)],
    "torch.max_pool3d": lambda: [call(f(1, 2, 8, 8, 8), 2)],
    "torch.adaptive_max_pool1d": lambda: [call(f(1, 2, 8), 2)],
    "torch.cosine_embedding_loss": lambda: [call(f(3, 4), f(3, 4), torch.ones(3))],
    "torch.margin_ranking_loss": lambda: [call(f(3), f(3), torch.ones(3))],
    "torch.hinge_embedding_loss": lambda: [call(f(3), torch.ones(3))],
    "torch.kl_div": lambda: [call(f(3, 3).log(), f(3, 3))],
    "torch.poisson_nll_loss": lambda: [call(f(3), f(3), True, False, 1e-8, 1)],
    "torch.triplet_margin_loss": lambda: [call(f(3, 4), f(3, 4), f(3, 4))],
    "torch.ctc_loss": lambda: [
        call(f(5, 2, 4).log(), torch.ones(2, 3, dtype=torch.long), torch.tensor([5, 5]), torch.tensor([3, 3])),
        call(f(5, 2, 4).log(), torch.ones(2, 3, dtype=torch.long), [5, 5], [3, 3]),
    ],
    "torch.grid_sampler": lambda: [call(f(1, 2, 4, 4), f(1, 3, 3, 2), 0, 0, False)],
    "torch.gru_cell": lambda: [call(f(2, 3), f(2, 4), f(12, 3), f(12, 4), f(12), f(12))],
    "torch.lstm_cell": lambda: [call(f(2, 3), [f(2, 4), f(2, 4)], f(16, 3), f(16, 4), f(16), f(16))],
    "torch.rnn_tanh_cell": lambda: [call(f(2, 3), f(2, 4), f(4, 3), f(4, 4), f(4), f(4))],
    "torch.rnn_relu_cell": lambda: [call(f(2, 3), f(2, 4), f(4, 3), f(4, 4), f(4), f(4))],
    "torch.gradient": lambda: [
        call(f(4, 4)),
        call(f(4, 4), spacing=1.0),
        call(f(4, 4), dim=0),
        call(f(4, 4), spacing=(f(4), f(4))),
    ],
    "torch.histogramdd": lambda: [call(f(4, 2), [2, 2])],
    "torch.vander": lambda: [call(f(4)), call(f(4), 3), call(f(4), increasing=True)],
    "torch.rrelu": lambda: [call(f(4) - 0.5, 0.1, 0.3, True)],
    "torch.rrelu_": lambda: [call(f(4) - 0.5, 0.1, 0.3, True)],
    "torch.norm_except_dim": lambda: [call(f(4, 3), 2, 0)],
    "torch.nuclear_norm": lambda: [call(f(3, 3)), call(f(3, 3), [0, 1])],
    "torch.frobenius_norm": lambda: [call(f(3, 3), [0, 1])],
    "torch.native_channel_shuffle": lambda: [call(f(1, 4, 2, 2), 2)],
    "torch.pca_lowrank": lambda: [call(f(6, 4), 2)],
    "torch.svd_lowrank": lambda: [call(f(6, 4), 2)],
    "torch.stft": lambda: [
        call(f(64), 16, return_complex=True),
        *(call(f(64), 16, win_length=n, window=f(n or 16), return_complex=True) for n in (None, 16, 8)),
    ],
    "torch.lu": lambda: [call(f(3, 3))],
    "torch.hsplit": lambda: [call(f(4, 4), [1, 2]), call(f(4, 4), 2)],
    "torch.vsplit": lambda: [call(f(4, 4), [1, 2]), call(f(4, 4), 2)],
    "torch.dsplit": lambda: [call(f(4, 4, 4), [1, 2]), call(f(4, 4, 4), 2)],
    "torch.tensor_split": lambda: [call(f(4, 4), [1, 2]), call(f(4, 4), 2), call(f(4, 4), torch.tensor([1, 2]))],
    "torch.movedim": lambda: [call(f(2, 3, 4), 0, 1), call(f(2, 3, 4), [0, 1], [1, 2])],
    "torch.moveaxis": lambda: [call(f(2, 3, 4), 0, 1), call(f(2, 3, 4), [0, 1], [1, 2])],
    "torch.clip": lambda: [call(f(3), 0.2, 0.5), call(f(3), f(3), f(3)), call(f(3), min=0.0), call(f(3), max=f(3))],
    "torch.clip_": lambda: [call(f(3), 0.2, 0.5), call(f(3), f(3), f(3)), call(f(3), min=0.0), call(f(3), max=f(3))],
    "torch.linalg.cond": lambda: [call(f(3, 3)), call(f(3, 3), 2), call(f(3, 3), "fro")],
    "torch.linalg.tensorsolve": lambda: [
        *(call(f(2, 2, 2, 2), f(2, 2), dims=dims) for dims in ((0, 2), (1, 3), None, (0, 1), (-2, -1))),
        call(f(4, 2, 2), f(2, 2), dims=(0,)),
        call(f(2, 2, 4), f(2, 2), dims=(-1,)),
    ],
    "torch.linalg.matrix_norm": lambda: [call(f(3, 3)), call(f(3, 3), "fro"), call(f(3, 3), 2), call(f(3, 3), "nuc")],
    "torch.linalg.norm": lambda: [
        call(f(3)),
        call(f(3, 3)),
        call(f(3, 3), 2),
        call(f(3, 3), 2, dim=-1),
        call(f(3, 3), "fro"),
        call(f(3, 3), dim=-1),
        call(f(3, 3), 2, dim=-1, keepdim=True),
    ],
    "torch.nn.functional.affine_grid": lambda: [call(f(1, 2, 3), [1, 1, 4, 4], align_corners=False)],
    "torch.nn.functional.dropout1d": lambda: [call(f(2, 3, 4), 0.5)],
    "torch.nn.functional.fold": lambda: [call(f(1, 8, 9), (4, 4), (2, 2))],
    "torch.nn.functional.gumbel_softmax": lambda: [call(f(3, 4)), call(f(3, 4), tau=0.5), call(f(3, 4), hard=True)],
    "torch.nn.functional.lp_pool1d": lambda: [call(f(1, 2, 8), 2.0, 2)],
    "torch.nn.functional.lp_pool2d": lambda: [call(f(1, 2, 8, 8), 2.0, 2)],
    "torch.nn.functional.lp_pool3d": lambda: [call(f(1, 2, 8, 8, 8), 2.0, 2)],
    "torch.nn.functional.sigmoid": lambda: [call(f(3, 3))],
    "torch.nn.functional.tanh": lambda: [call(f(3, 3))],
    "torch.nn.functional.softsign": lambda: [call(f(3, 3))],
    "torch.nn.functional.tanhshrink": lambda: [call(f(3, 3))],
    "torch.nn.functional.selu_": lambda: [call(f(3, 3))],
    "torch.nn.functional.rrelu_": lambda: [call(f(3, 3) - 0.5, 0.1, 0.3, True)],
    "torch.nn.functional.upsample": lambda: [
        call(f(1, 2, 4, 4), scale_factor=2),
        call(f(1, 2, 4, 4), 8, mode="bilinear"),
    ],
    "torch.nn.functional.upsample_bilinear": lambda: [call(f(1, 2, 4, 4), scale_factor=2)],
    "torch.nn.functional.upsample_nearest": lambda: [call(f(1, 2, 4, 4), scale_factor=2)],
    **{f"torch.nn.functional.adaptive_max_pool{n}d": _pooling(n, {}, {"return_indices": True}) for n in (1, 2, 3)},
    **{f"torch.nn.functional.{kind}_with_indices": _pooling(n, {}) for n, kind in _MAX_POOLS},
    **{f"torch.nn.functional.fractional_max_pool{n}d_with_indices": _pooling(n, {"output_size": 2}) for n in (2, 3)},
    "torch.embedding": lambda: [call(f(5, 3), i(4))],
    "torch.repeat_interleave": lambda: [call(i(3)), call(f(3), 2), call(f(3), i(3))],
    "torch.float_power": lambda: [call(f(3), 2.5), call(f(3), f(3)), call(2.5, f(3))],
    "Tensor.float_power": lambda: [call(f(3), 2.5), call(f(3), f(3))],
    "Tensor.float_power_": lambda: [call(f(3).double(), 2.5), call(f(3).double(), f(3).double())],
    "torch.special.polygamma": lambda: [call(1, f(3))],
    "Tensor.__getitem__": lambda: [
        call(f(4, 3), i(2)),
        call(f(4, 3), b(4)),
        call(f(4, 3), (slice(None), i(2))),
        call(f(4, 3), (i(2), i(2))),
        call(f(4, 3), 0),
        call(f(4, 3), slice(0, 2)),
        call(f(4, 3), (slice(None), None, 1)),
        call(f(4, 3), (Ellipsis, 0)),
    ],
    "Tensor.__setitem__": lambda: [
        call(f(4, 3), i(2), f(2, 3)),
        call(f(4, 3), b(4), f(1, 3)),
        call(f(4, 3), (slice(None), i(2)), f(4, 2)),
        call(f(4, 3), (i(2), i(2)), f(2)),
        call(f(4, 3), 0, f(3)),
        call(f(4, 3), slice(0, 2), f(2, 3)),
        call(f(4, 3), b(4, 3), 0.0),
        call(f(4, 3), (slice(None), i(2)), 0.0),
        call(f(4, 3), slice(0, 2), 0.0),
        call(f(4, 3), 0, 0.0),
    ],
    "Tensor.unflatten": lambda: [call(f(4, 6), 1, (2, 3))],
    "Tensor.where": lambda: [call(f(3, 3), b(3, 3), f(3, 3)), call(f(3, 3), b(3, 3), 0.0)],
    "Tensor.as_subclass": lambda: [call(f(3), torch.Tensor)],
    "Tensor.polygamma": lambda: [call(f(3), 1)],
    "Tensor.view": lambda: [call(f(4, 3), 3, 4), call(f(4, 3), -1)],
    "Tensor.istft": lambda: [
        call(torch.stft(f(64), 16, window=f(16), return_complex=True), 16, win_length=n, window=f(n or 16))
        for n in (None, 16, 8)
    ],
    "Tensor.bernoulli": lambda: [call(f(3)), call(f(3), 0.5)],
    "Tensor.fill_diagonal_": lambda: [call(f(3, 3), 0.0)],
}
for _name in (
    "norm",
    "lu",
    "stft",
    "hsplit",
    "vsplit",
    "dsplit",
    "tensor_split",
    "movedim",
    "moveaxis",
    "clip",
    "clip_",
):
    RECIPES[f"Tensor.{_name}"] = RECIPES[f"torch.{_name}"]
