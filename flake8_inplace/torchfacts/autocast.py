"""Which operators `torch.autocast` gives what they are given in another precision, and so a copy of it to save.

The lists are those of PyTorch's autocast_mode.h, with the functions and layers that are made of nothing else. Those of
the CPU were measured with the samples of `op_db`, by the types of the results.
"""

from __future__ import annotations

from functools import cache

_LOWER = """
    __rmatmul__ matmul linalg.matmul mm bmm mv addmm addbmm addmv addr baddbmm chain_matmul linalg.multi_dot
    linalg.vecdot linalg.matrix_power einsum tensordot linear prelu scaled_dot_product_attention
    conv1d conv2d conv3d conv_tbc convolution conv_transpose1d conv_transpose2d conv_transpose3d
    lstm gru rnn lstm_cell gru_cell rnn_relu_cell rnn_tanh_cell RNNCell LazyLinear
    multi_head_attention_forward MultiheadAttention Transformer
    TransformerEncoder TransformerEncoderLayer TransformerDecoder TransformerDecoderLayer
"""
"""What runs in the lower precision. Losing a save there is only a miss, so layers with one such operator count."""
_LOSSES = """
    mse_loss l1_loss smooth_l1_loss huber_loss nll_loss kl_div cross_entropy cosine_embedding_loss
    hinge_embedding_loss margin_ranking_loss multi_margin_loss multilabel_margin_loss poisson_nll_loss
    soft_margin_loss triplet_margin_loss binary_cross_entropy_with_logits
    NLLLoss2d KLDivLoss CrossEntropyLoss BCEWithLogitsLoss
"""
_FULL = {
    "cpu": f"""
    {_LOSSES} binary_cross_entropy BCELoss linear_cross_entropy ctc_loss
    cdist cholesky cholesky_inverse cholesky_solve geqrf grid_sample grid_sampler_2d grid_sampler_3d
    linalg.cholesky linalg.eigh linalg.inv linalg.qr linalg.solve linalg.svd inverse lu_solve ormqr pinverse qr svd
    nanquantile quantile prod trace triangular_solve avg_pool3d max_pool3d adaptive_avg_pool3d adaptive_max_pool3d
    max_unpool1d max_unpool2d max_unpool3d
    """,
    "cuda": f"""
    {_LOSSES} acos asin cosh sinh tan erfinv exp expm1 log log10 log1p log2 pow reciprocal rsqrt cumprod cumsum
    dist cdist pdist norm normalize cosine_similarity prod sum renorm layer_norm group_norm softmax softmin
    log_softmax softplus
    """,
}
"""What runs in full precision, by the type of the device."""


def _plain(name: str) -> str:
    """The name of a layer is that of its function without underscores, in other letters: `MSELoss`, `mse_loss`."""
    return name.lower() if name.endswith("_") else name.replace("_", "").lower()


@cache
def _names(text: str) -> frozenset[str]:
    return frozenset(map(_plain, text.split()))


def lowers(name: str) -> bool:
    """Whether an operator or layer runs in the lower precision."""
    return _plain(name) in _names(_LOWER)


def raises(name: str, device: str) -> bool:
    """Whether an operator or layer runs in full precision, on this type of device."""
    return _plain(name) in _names(_FULL["cpu" if device == "cpu" else "cuda"])
