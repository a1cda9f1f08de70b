"""Calls of operators that take other arguments than the function of the same name, and so than the samples of op_db.

Most are `torch.ops.aten.*`, which want sizes as lists and reductions as numbers. Development only.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from .recipes import Call, b, call, f, i

Recipe = Callable[[], list[Call]]
_SIDES = {1: 6, 2: 5, 3: 3}
"""The size of an image, by the number of its dimensions."""


def _image(n: int) -> torch.Tensor:
    return f(1, 2, *[_SIDES[n]] * n)


def _complex(*shape: int) -> torch.Tensor:
    return torch.complex(f(*shape), f(*shape))


def _convolved(n: int) -> Recipe:
    """An image, a kernel of size 2, and its size."""
    return lambda: [call(_image(n), f(2, 2, *[2] * n), [2] * n)]


def _resized(n: int, *corners: bool) -> Recipe:
    """To a size, or by a factor."""
    return lambda: [call(_image(n), [7] * n, *corners), call(_image(n), None, *corners, [2.0] * n)]


def _of_image(n: int, *args: object) -> Recipe:
    return lambda: [call(_image(n), *args)]


_RESIZING = {"linear1d": 1, "bilinear2d": 2, "bicubic2d": 2, "trilinear3d": 3}
_ONES = [1, 1]
_IMAGES: dict[str, Recipe] = {
    **{f"reflection_pad{n}d": _of_image(n, [1, 1] * n) for n in (1, 2, 3)},
    **{f"replication_pad{n}d": _of_image(n, [1, 1] * n) for n in (1, 2, 3)},
    **{f"upsample_nearest{n}d": _resized(n) for n in (1, 2, 3)},
    **{f"_upsample_nearest_exact{n}d": _resized(n) for n in (1, 2, 3)},
    **{f"upsample_{kind}": _resized(n, False) for kind, n in _RESIZING.items()},
    **{f"_upsample_{kind}2d_aa": _resized(2, False) for kind in ("bilinear", "bicubic", "lanczos")},
    **{
        f"{kind}{n}d": _of_image(n, [2] * n)
        for n in (2, 3)
        for kind in ("adaptive_avg_pool", "_adaptive_avg_pool", "adaptive_max_pool")
    },
    **{f"max_pool{n}d_with_indices": _of_image(n, [2] * n) for n in (2, 3)},
    "fractional_max_pool2d": lambda: [call(_image(2), [2, 2], [3, 3], f(1, 2, 2))],
    "fractional_max_pool3d": lambda: [call(_image(3), [2, 2, 2], [1, 1, 1], f(1, 2, 3))],
    "max_unpool2d": lambda: [call(f(1, 1, 2, 2), torch.tensor([[[[0, 3], [8, 15]]]]), [4, 4])],
    "max_unpool3d": lambda: [
        call(f(1, 1, 1, 2, 2), torch.tensor([[[[[0, 3], [8, 15]]]]]), [2, 4, 4], [2, 2, 2], [0, 0, 0])
    ],
    **{f"slow_conv_dilated{n}d": _convolved(n) for n in (2, 3)},
    **{f"slow_conv_transpose{n}d": _convolved(n) for n in (2, 3)},
    "thnn_conv2d": _convolved(2),
    "slow_conv3d": _convolved(3),
    "_convolution": lambda: [
        call(_image(2), f(3, 2, 2, 2), f(3), _ONES, [0, 0], _ONES, False, [0, 0], 1, False, False, False, False)
    ],
    "im2col": lambda: [call(_image(2), [2, 2], _ONES, [0, 0], _ONES)],
    "col2im": lambda: [call(f(1, 8, 9), [4, 4], [2, 2], _ONES, [0, 0], _ONES)],
    "_grid_sampler_2d_cpu_fallback": lambda: [call(_image(2), f(1, 3, 3, 2), 0, 0, False)],
}
_OTHERS: dict[str, Recipe] = {
    "stft": lambda: [
        call(f(64), 16, window=window, return_complex=True, **centred)
        for window in (f(16), None)
        for centred in ({}, {"center": True})
    ],
    "cross_entropy_loss": lambda: [
        call(f(3, 4), target, weight) for target in (i(3), f(3, 4)) for weight in (None, f(4))
    ],
    "nll_loss": lambda: [call(f(3, 4), i(3)), call(f(3, 4), i(3), f(4))],
    "nll_loss_nd": lambda: [call(f(3, 4), i(3)), call(f(3, 4), i(3), f(4))],
    "nll_loss2d": lambda: [call(f(2, 4, 3, 3), i(2, 3, 3)), call(f(2, 4, 3, 3), i(2, 3, 3), f(4))],
    "huber_loss": lambda: [call(f(3, 3), f(3, 3)), call(f(3, 3), f(3, 3), 0, 0.5)],
    "_ctc_loss": lambda: [call(f(5, 1, 4).log_softmax(-1), torch.tensor([[1, 2]]), [5], [2])],
    "cdist": lambda: [call(f(3, 4), f(5, 4), 2.0), call(f(3, 4), f(5, 4), 1.0)],
    "einsum": lambda: [call("ij,jk->ik", [f(3, 4), f(4, 2)]), call("ij,ij->i", [f(3, 4), f(3, 4)])],
    "tensordot": lambda: [call(f(3, 4), f(4, 2), [1], [0])],
    "cartesian_prod": lambda: [call([f(3), f(4)])],
    "block_diag": lambda: [call([f(2, 2), f(3, 3)])],
    "broadcast_tensors": lambda: [call([f(3, 1), f(1, 4)])],
    "unflatten_dense_tensors": lambda: [call(f(12), [f(3, 4)])],
    "_trilinear": lambda: [call(f(3, 1, 4, 1), f(1, 2, 4, 5), f(3, 1, 1, 5), [], [], [], [2, 3])],
    "_log_softmax": lambda: [call(f(3, 4), 1, False)],
    "_softmax": lambda: [call(f(3, 4), 1, False)],
    "_masked_softmax": lambda: [call(f(3, 4), b(3, 4), 1, 2)],
    "_native_batch_norm_legit_no_training": lambda: [call(f(2, 3, 4), f(3), f(3), f(3), f(3), 0.1, 1e-5)],
    "_scaled_dot_product_flash_attention_for_cpu": lambda: [call(f(1, 2, 3, 4), f(1, 2, 3, 4), f(1, 2, 3, 4))],
    "_embedding_bag": lambda: [call(f(5, 3), i(4), torch.tensor([0, 2]))],
    "_pack_padded_sequence": lambda: [call(f(3, 2, 4), torch.tensor([3, 2]), False)],
    "_reshape_alias_copy": lambda: [call(f(3, 4), [4, 3], [3, 1])],
    "_fft_r2c": lambda: [call(f(4, 4), [0], 0, True)],
    "_fft_c2c": lambda: [call(_complex(4, 4), [0], 0, True)],
    "_fft_c2r": lambda: [call(_complex(3), [0], 0, 4)],
    "index": lambda: [call(f(4, 3), [i(2)])],
    "_unsafe_index": lambda: [call(f(4, 3), [i(2)])],
    "_unsafe_index_put": lambda: [call(f(4, 3), [i(2)], f(2, 3))],
    "_index_put_impl_": lambda: [call(f(4, 3), [i(2)], f(2, 3))],
}
RECIPES: dict[str, Recipe] = {
    **{f"torch.ops.aten.{name}": recipe for name, recipe in (_IMAGES | _OTHERS).items()},
    "torch.convolution": lambda: [call(_image(2), f(3, 2, 2, 2), f(3), _ONES, [0, 0], _ONES, False, [0, 0], 1)],
    "torch.grid_sampler_2d": lambda: [call(_image(2), f(1, 3, 3, 2), 0, 0, False)],
    "torch.affine_grid_generator": lambda: [call(f(1, 2, 3), [1, 1, 4, 4], False)],
    "torch.as_strided_": lambda: [call(f(3, 3), (2, 2), (1, 1))],
    "torch.bilinear": lambda: [call(f(3, 4), f(3, 4), f(2, 4, 4), f(2))],
    "torch.channel_shuffle": lambda: [call(f(1, 4, 2, 2), 2)],
    "torch.conv_tbc": lambda: [call(f(5, 1, 2), f(3, 2, 3), f(3))],
    "torch.nn.functional.conv_tbc": lambda: [call(f(5, 1, 2), f(3, 2, 3), f(3))],
    "torch.native_dropout": lambda: [call(f(3, 3), 0.5, True)],
    "torch.pixel_shuffle": lambda: [call(f(1, 4, 2, 2), 2)],
    "torch.pixel_unshuffle": lambda: [call(f(1, 1, 4, 4), 2)],
    "torch.prelu": lambda: [call(f(2, 3, 4), f(3))],
    "Tensor.prelu": lambda: [call(f(2, 3, 4), f(3))],
    "torch.polygamma": lambda: [call(1, f(3))],
    "torch.segment_reduce": lambda: [
        *(call(f(6), kind, lengths=torch.tensor([2, 4])) for kind in ("sum", "mean", "max", "min", "prod")),
        *(call(f(6), kind, offsets=torch.tensor([0, 2, 6])) for kind in ("sum", "max")),
    ],
    "torch.unsafe_split_with_sizes": lambda: [call(f(4, 3), [1, 3])],
    "Tensor.unsafe_split_with_sizes": lambda: [call(f(4, 3), [1, 3])],
    "torch.index_put_": lambda: [call(f(4, 3), (i(2),), f(2, 3))],
    "torch.view_as_complex_copy": lambda: [call(f(3, 2))],
    "torch.view_as_real_copy": lambda: [call(_complex(3))],
    "torch.addmv_": lambda: [call(f(3), f(3, 4), f(4))],
    "Tensor.addmm_": lambda: [call(f(3, 2), f(3, 4), f(4, 2)), call(f(3, 2), f(3, 4), f(4, 2), beta=0.5, alpha=2.0)],
    "Tensor.addmv_": lambda: [call(f(3), f(3, 4), f(4))],
}
