"""Kinds of operators, by what they compute, and the several names that PyTorch and numpy have for one operator."""

from __future__ import annotations

_ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "clip": "clamp",
    "concat": "cat",
    "concatenate": "cat",
    "divide": "div",
    "fix": "trunc",
    "ger": "outer",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "moveaxis": "movedim",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "row_stack": "vstack",
    "subtract": "sub",
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "true_divide": "div",
    "truediv": "div",
}
_PLAIN = _ALIASES | {f"{alias}_": f"{name}_" for alias, name in _ALIASES.items()}

ADDING = frozenset({"add", "sub"})
STEPPING = frozenset({"round", "floor", "ceil", "trunc", "sign", "sgn"})
"""Operators whose derivative is zero wherever they have one."""
SCALING = frozenset({"mul", "div"})
EQUATING = frozenset({"eq", "ne", "equal", "allclose", "isclose", "array_equal"})
"""Operators that ask whether two tensors are equal."""
DIFFERENCES = frozenset(
    "sub rsub dist mse_loss l1_loss smooth_l1_loss huber_loss kl_div cosine_similarity pairwise_distance".split()
)
"""Operators whose result is the same for every tensor and itself."""
NOISE = frozenset({"rand_like", "randn_like", "randint_like"})
"""Operators that take only the shape of their operand: two calls have nothing in common."""
CONVOLUTIONS = frozenset(f"{conv}{n}d" for n in (1, 2, 3) for conv in ("conv", "Conv"))
"""Those of which ``padding="same"`` may save a copy of the input: the analysis computes when."""
ONE_KERNEL = CONVOLUTIONS | frozenset(f"{conv}{n}d" for n in (1, 2, 3) for conv in ("conv_transpose", "ConvTranspose"))
"""Products whose backward takes both operands, whichever gradient it computes: each from the values of the other."""
ELEMENTWISE = frozenset(
    "clone add sub mul div pow neg abs square sqrt rsqrt reciprocal exp log sigmoid tanh relu".split()
)
"""Some operators whose result has an element for each of their operand's, computed from that one."""
SELECTING = frozenset({"index", "indices", "mask", "condition"})
"""Parameters that say which elements are meant: integers or booleans."""


def plain(op: str) -> str:
    """Return the first name of an operator: `mul_` for `multiply_`."""
    return _PLAIN.get(op, op)
