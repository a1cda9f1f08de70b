"""How to build the layers of torch.nn, and sample calls of them.

Development only. Forward's own signature is read from the class, unless given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from .recipes import RECIPES, Call, call, f, i


class Module:
    def __init__(self, *args: Any, calls: Callable[[], list[Call]], forward: str = "", **kwargs: Any) -> None:
        self.args, self.kwargs, self.calls, self.forward = args, kwargs, calls, forward


def _each(*args: Any, calls: Callable[[], list[Call]], names: str, **kwargs: Any) -> dict[str, Module]:
    return {name: Module(*args, calls=calls, **kwargs) for name in names.split()}


def _image(n: int, size: int = 8) -> Callable[[], list[Call]]:
    return lambda: [call(f(2, 4, *[size] * n))]


def _unpool(n: int) -> Callable[[], list[Call]]:
    return lambda: [call(f(1, 1, *[2] * n), torch.arange(2**n).reshape(1, 1, *[2] * n))]


def _loss(*targets: Callable[[], torch.Tensor]) -> Callable[[], list[Call]]:
    return lambda: [call(f(3, 4), *(make() for make in targets))]


def _x() -> list[Call]:
    return [call(f(3, 4) - 0.5)]


MODULES: dict[str, Module] = {
    **_each(
        calls=_x,
        names="ReLU ReLU6 RReLU Hardtanh Sigmoid Hardsigmoid Tanh SiLU Mish Hardswish ELU CELU SELU GELU Hardshrink"
        " LeakyReLU LogSigmoid Softplus Softshrink PReLU Softsign Tanhshrink Identity Dropout AlphaDropout",
    ),
    "GLU": Module(calls=_x),
    "Threshold": Module(0.1, 0.0, calls=_x),
    **_each(1, calls=_x, names="Softmax LogSoftmax Softmin"),
    "Softmax2d": Module(calls=_image(2)),
    "Dropout1d": Module(calls=_image(1)),
    "Dropout2d": Module(calls=_image(2)),
    "Dropout3d": Module(calls=_image(3, 3)),
    "FeatureAlphaDropout": Module(calls=_image(2)),
    "Linear": Module(4, 3, calls=_x),
    "Bilinear": Module(4, 4, 3, calls=lambda: [call(f(3, 4), f(3, 4))]),
    "Flatten": Module(calls=_image(2)),
    "Unflatten": Module(1, (2, 2), calls=_x),
    "Fold": Module((4, 4), (2, 2), calls=lambda: [call(f(1, 8, 9))]),
    "Unfold": Module((2, 2), calls=_image(2)),
    "ChannelShuffle": Module(2, calls=_image(2)),
    "PixelShuffle": Module(2, calls=_image(2)),
    "PixelUnshuffle": Module(2, calls=_image(2)),
    **{f"Conv{n}d": Module(4, 3, 3, calls=_image(n, 4)) for n in (1, 2, 3)},
    **{f"ConvTranspose{n}d": Module(4, 3, 2, calls=_image(n, 4)) for n in (1, 2, 3)},
    **{
        f"{kind}Pool{n}d": Module(2, calls=_image(n, 4))
        for n in (1, 2, 3)
        for kind in ("Max", "Avg", "AdaptiveAvg", "AdaptiveMax")
    },
    **{f"LPPool{n}d": Module(2.0, 2, calls=_image(n, 4)) for n in (1, 2, 3)},
    **{f"FractionalMaxPool{n}d": Module(2, output_size=2, calls=_image(n, 6)) for n in (2, 3)},
    **{f"MaxUnpool{n}d": Module(2, calls=_unpool(n)) for n in (1, 2, 3)},
    **{f"BatchNorm{n}d": Module(4, calls=_image(n, 3)) for n in (1, 2, 3)},
    **{f"InstanceNorm{n}d": Module(4, calls=_image(n, 3)) for n in (1, 2, 3)},
    "GroupNorm": Module(2, 4, calls=_image(2)),
    "LayerNorm": Module(4, calls=_x),
    "RMSNorm": Module(4, calls=_x),
    "LocalResponseNorm": Module(2, calls=_image(2)),
    "CrossMapLRN2d": Module(2, calls=_image(2)),
    **{
        f"{kind}Pad{n}d": Module(1, calls=_image(n, 4))
        for n in (1, 2, 3)
        for kind in ("Reflection", "Replication", "Zero", "Circular")
    },
    **{f"ConstantPad{n}d": Module(1, 0.0, calls=_image(n, 4)) for n in (1, 2, 3)},
    "Upsample": Module(scale_factor=2, mode="area", calls=_image(2)),
    "UpsamplingNearest2d": Module(scale_factor=2, calls=_image(2)),
    "UpsamplingBilinear2d": Module(scale_factor=2, calls=_image(2)),
    "Embedding": Module(5, 3, calls=lambda: [call(i(2, 3))]),
    "EmbeddingBag": Module(5, 3, calls=lambda: [call(i(2, 3)), call(i(6), torch.tensor([0, 3]))]),
    "CosineSimilarity": Module(calls=_loss(lambda: f(3, 4))),
    "PairwiseDistance": Module(calls=_loss(lambda: f(3, 4))),
    **_each(
        calls=_loss(lambda: f(3, 4)),
        names="L1Loss MSELoss BCELoss BCEWithLogitsLoss KLDivLoss SmoothL1Loss HuberLoss PoissonNLLLoss"
        " MultiLabelSoftMarginLoss",
    ),
    **_each(calls=_loss(lambda: i(3)), names="CrossEntropyLoss NLLLoss MultiMarginLoss"),
    "NLLLoss2d": Module(calls=lambda: [call(f(2, 4, 3, 3), i(2, 3, 3))]),
    **_each(calls=_loss(lambda: torch.ones(3, 4)), names="HingeEmbeddingLoss SoftMarginLoss"),
    "MultiLabelMarginLoss": Module(calls=_loss(lambda: i(3, 4))),
    "GaussianNLLLoss": Module(calls=_loss(lambda: f(3, 4), lambda: f(3, 4))),
    "MarginRankingLoss": Module(calls=lambda: [call(f(3), f(3), torch.ones(3))]),
    "CosineEmbeddingLoss": Module(calls=_loss(lambda: f(3, 4), lambda: torch.ones(3))),
    "TripletMarginLoss": Module(calls=_loss(lambda: f(3, 4), lambda: f(3, 4))),
    "TripletMarginWithDistanceLoss": Module(calls=_loss(lambda: f(3, 4), lambda: f(3, 4))),
    "LinearCrossEntropyLoss": Module(4, 3, calls=lambda: [call(f(3, 4), i(3))]),
    "CTCLoss": Module(calls=RECIPES["torch.nn.functional.ctc_loss"]),
    "RNN": Module(4, 3, calls=lambda: [call(f(5, 2, 4)), call(f(5, 2, 4), f(1, 2, 3))], forward="input:T hx:T?"),
    "GRU": Module(4, 3, calls=lambda: [call(f(5, 2, 4)), call(f(5, 2, 4), f(1, 2, 3))], forward="input:T hx:T?"),
    "LSTM": Module(
        4, 3, calls=lambda: [call(f(5, 2, 4)), call(f(5, 2, 4), (f(1, 2, 3), f(1, 2, 3)))], forward="input:T hx:L?"
    ),
    "RNNCell": Module(4, 3, calls=lambda: [call(f(2, 4)), call(f(2, 4), f(2, 3))], forward="input:T hx:T?"),
    "GRUCell": Module(4, 3, calls=lambda: [call(f(2, 4)), call(f(2, 4), f(2, 3))], forward="input:T hx:T?"),
    "LSTMCell": Module(4, 3, calls=lambda: [call(f(2, 4)), call(f(2, 4), (f(2, 3), f(2, 3)))], forward="input:T hx:L?"),
    "MultiheadAttention": Module(4, 2, calls=lambda: [call(f(5, 2, 4), f(5, 2, 4), f(5, 2, 4))]),
    "TransformerEncoderLayer": Module(4, 2, 8, calls=lambda: [call(f(5, 2, 4))]),
    "TransformerDecoderLayer": Module(4, 2, 8, calls=lambda: [call(f(5, 2, 4), f(5, 2, 4))]),
    "TransformerEncoder": Module(nn.TransformerEncoderLayer(4, 2, 8), 2, calls=lambda: [call(f(5, 2, 4))]),
    "TransformerDecoder": Module(nn.TransformerDecoderLayer(4, 2, 8), 2, calls=lambda: [call(f(5, 2, 4), f(5, 2, 4))]),
    "AdaptiveLogSoftmaxWithLoss": Module(4, 6, [2], calls=lambda: [call(f(3, 4), i(3))]),
    "Transformer": Module(4, 2, 1, 1, 8, calls=lambda: [call(f(5, 2, 4), f(5, 2, 4))]),
}

# Built like another class, and once built the same op.
LIKE: dict[str, str] = {
    "SyncBatchNorm": "BatchNorm2d",
    "LazyLinear": "Linear",
    **{
        f"Lazy{name}{n}d": f"{name}{n}d"
        for name in ("Conv", "ConvTranspose", "BatchNorm", "InstanceNorm")
        for n in (1, 2, 3)
    },
}

INPLACE_MODULES = (
    "AlphaDropout CELU Dropout Dropout1d Dropout2d Dropout3d ELU FeatureAlphaDropout Hardsigmoid Hardswish Hardtanh"
    " LeakyReLU Mish RReLU ReLU ReLU6 SELU SiLU Threshold"
).split()

# The recurrent layers take their arguments as *args.
INIT: dict[str, dict[str, Any]] = {
    name: {
        "input_size": ...,
        "hidden_size": ...,
        "num_layers": 1,
        "bias": True,
        "batch_first": False,
        "dropout": 0.0,
        "bidirectional": False,
    }
    for name in ("RNN", "LSTM", "GRU")
}
