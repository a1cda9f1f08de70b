"""The types of the elements of arrays, as far as a program tells them.

A conversion to the type that an array has already may copy nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..heap.regions import base_of
from ..heap.values import Const, List, Ref, Tensor, Tuple, Value, constant
from ..trace.log import array_backing
from ..trace.trace import Trace

DEPTH = 4
"""How many functions back it is asked what an array was made of."""
_SIZED = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
_NAMES = {name: name for name in _SIZED}
_NAMES |= {"half": "float16", "single": "float32", "double": "float64", "float": "float64", "int": "int64"}
_NAMES |= {"float_": "float64", "int_": "int64", "bool_": "bool", "long": "int64"}
_OF_TORCH = {"float": "float32", "int": "int32", "short": "int16"}
"""The names that PyTorch gives to other types than numpy does."""
_FLOATS = frozenset(
    "zeros ones empty eye identity linspace logspace geomspace rand randn random random_sample normal uniform "
    "standard_normal laplace logistic gumbel lognormal beta gamma exponential rayleigh loadtxt genfromtxt".split()
)
"""Functions that make numbers of double precision unless they are asked for another type."""
_DIVIDING = frozenset("div divide true_divide mean std var".split())
"""Functions that make numbers of double precision of whole numbers of any type."""
_CURVES = frozenset("sqrt exp expm1 log log2 log10 log1p sin cos tan tanh".split())
"""Functions that do so of large ones, and numbers of less precision of those of 8 and 16 bits."""
_ARITHMETIC = (
    _DIVIDING
    | _CURVES
    | frozenset("add sub mul subtract multiply pow power square maximum minimum negative neg abs absolute".split())
)
_KEEPING = frozenset(
    "array copy sort index roll flatten repeat tile concatenate concat stack vstack hstack zeros_like ones_like "
    "empty_like full_like flip pad round cumsum diff permutation __copy__ __deepcopy__".split()
)
"""Functions whose result has the type of their first argument."""


def named(m: Trace, value: Value) -> str:
    """The type that a value names, such as ``np.float32``, ``"float32"`` and ``torch.float32``; or nothing."""
    value = m.see(value)
    name = value.name if isinstance(value, Ref) else constant(value)
    if not isinstance(name, str):
        return ""
    package, _, last = name.rpartition(".")
    if package not in ("", "builtins", "numpy", "torch"):
        return ""
    return _OF_TORCH.get(last, _NAMES.get(last, "")) if package == "torch" else _NAMES.get(last, "")


def of(m: Trace, tensor: Tensor, depth: int = DEPTH) -> str:
    """The type of the elements of an array; nothing if it isn't known."""
    made = base_of(tensor).made
    if made is None or not depth:
        return ""
    asked = [name for value in made.values if (name := named(m, value))]
    if asked or made.op in _FLOATS:
        return asked[0] if asked else "float64"
    if made.op not in _KEEPING | _ARITHMETIC:
        return ""
    given = made.values if made.op in _ARITHMETIC else made.values[:1]
    types = {kind for value in given for kind in _types(m, value, depth - 1)}
    arrays = types - {"a fraction", "a whole number"}
    if len(arrays) > 1 or "" in types:
        return ""
    kind = next(iter(arrays), "int64")
    if kind.startswith("float") or not ("a fraction" in types or made.op in _DIVIDING | _CURVES):
        return kind
    return "" if made.op in _CURVES and kind not in ("int32", "int64", "uint32", "uint64") else "float64"


def _types(m: Trace, value: Value, depth: int) -> Iterator[str]:
    """The types of the arrays and numbers in a value."""
    value = m.see(value)
    if isinstance(value, (List, Tuple)):
        for item in value.items if isinstance(value, Tuple) else m.state.get(value).items:
            yield from _types(m, item, depth)
    elif isinstance(value, Const) and type(value.value) in (int, float):
        yield "a fraction" if type(value.value) is float else "a whole number"
    else:
        tensor = array_backing(value)
        yield of(m, tensor, depth) if isinstance(tensor, Tensor) else ""
