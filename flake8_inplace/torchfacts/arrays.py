"""What functions and methods of numpy return and overwrite. tests/test_arrays.py executes every row.

A row is `names | params | writes | result`. The names are those of functions of `numpy`, or of methods of the class
that begins the block, whose first parameter is the array itself. ``writes`` are the parameters that are overwritten.
The result is one of these:

- ``view(x)``, ``views(x)`` (a list of them), ``same(x)``: memory of ``x``
- ``maybe(x)``: ``x`` itself or a view of it; a copy only if the memory of ``x`` is not contiguous
- ``fresh``: an array with memory of its own; ``like(x)``: one with as many dimensions as ``x``
- ``blank``: memory that was made to be filled
- ``sized``: a new array if there is a ``size``, or a first dimension; else a number
- nothing: a number, None, or what may be one
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

_TABLE = """
numpy
transpose permute_dims|a axes||view(a)
swapaxes|a axis1 axis2||view(a)
squeeze|a axis||view(a)
moveaxis rollaxis|a source destination||view(a)
expand_dims|a axis||view(a)
matrix_transpose|x||view(x)
flip|m axis||view(m)
fliplr flipud|m||view(m)
rot90|m k axes||view(m)
diagonal|a offset axis1 axis2||view(a)
broadcast_to|array shape||view(array)
lib.stride_tricks.as_strided|x shape strides||view(x)
lib.stride_tricks.sliding_window_view|x window_shape axis||view(x)
real|val||view(val)
trim_zeros|filt trim||view(filt)
split array_split|ary indices_or_sections axis||views(ary)
hsplit vsplit dsplit|ary indices_or_sections||views(ary)
unstack|x axis||views(x)
reshape|a shape order||maybe(a)
ravel|a order||maybe(a)
atleast_1d atleast_2d atleast_3d|ary||maybe(ary)
copyto|dst src casting where|dst|
put|a ind v mode|a|
place|arr mask vals|arr|
putmask|a mask values|a|
fill_diagonal|a val wrap|a|
put_along_axis|arr indices values axis|arr|
zeros ones empty|shape dtype order||blank
full|shape fill_value dtype||blank
memmap|filename dtype mode offset shape order||blank
zeros_like ones_like empty_like full_like|a fill_value||blank
arange linspace logspace geomspace|start stop num||fresh
eye|N M k||fresh
identity|n dtype||fresh
copy sort nan_to_num|a||like(a)
concatenate concat|arrays axis||fresh
stack vstack hstack dstack column_stack|arrays axis||fresh
tile|A reps||fresh
repeat|a repeats axis||fresh
pad|array pad_width mode||fresh
append|arr values axis||fresh
insert|arr obj values axis||fresh
delete|arr obj axis||fresh
resize|a new_shape||fresh
roll|a shift axis||like(a)
where|condition x y||fresh
clip|a a_min a_max out||like(a)
outer kron|a b||fresh
cumsum cumprod|a axis||fresh
diff|a n axis||fresh
tril triu|m k||fresh
bincount|x weights minlength||fresh
argsort|a axis||like(a)
load|file mmap_mode||fresh
loadtxt genfromtxt|fname dtype||fresh
fromiter|iter dtype count||fresh
fft
fft ifft rfft irfft hfft ihfft|a n axis norm||like(a)
fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn|a s axes norm||like(a)
fftshift ifftshift|x axes||like(x)
ufunc
at|a indices b|a|
random.Generator
permuted|x axis out||fresh
random|size dtype out||sized
integers|low high size dtype||sized
random random.RandomState
rand randn|d0 d1 d2 d3||sized
randint|low high size dtype||sized
random random_sample|size||sized
random random.Generator random.RandomState
shuffle|x axis|x|
permutation|x axis||fresh
normal laplace logistic gumbel lognormal|loc scale size||sized
uniform|low high size||sized
beta|a b size||sized
gamma|shape scale size||sized
exponential rayleigh|scale size||sized
poisson|lam size||sized
binomial|n p size||sized
choice|a size replace p||sized
standard_normal standard_cauchy standard_exponential|size||sized
standard_t chisquare|df size||sized
pareto power weibull|a size||sized
geometric|p size||sized
vonmises wald|loc scale size||sized
triangular|left mode right size||sized
dirichlet|alpha size||fresh
multivariate_normal|mean cov size||fresh
multinomial|n pvals size||fresh
ndarray
transpose|a axes||view(a)
swapaxes|a axis1 axis2||view(a)
squeeze|a axis||view(a)
diagonal|a offset axis1 axis2||view(a)
view|a dtype type||view(a)
reshape|a shape order||maybe(a)
ravel|a order||maybe(a)
__array__|a||same(a)
fill|a value|a|
put|a indices values mode|a|
sort|a axis kind order|a|
partition|a kth axis kind order|a|
resize|a new_shape refcheck|a|
setfield|a val dtype offset|a|
copy round clip|a||like(a)
flatten|a order||fresh
cumsum cumprod|a axis||fresh
astype|a dtype||like(a)
repeat|a repeats axis||fresh
__copy__ __deepcopy__|a||like(a)
"""
UFUNCS = frozenset(
    "abs absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_not bitwise_or "
    "bitwise_xor cbrt ceil conj conjugate copysign cos cosh deg2rad degrees divide equal exp exp2 expm1 fabs "
    "float_power floor floor_divide fmax fmin fmod gcd greater greater_equal heaviside hypot invert isfinite isinf "
    "isnan lcm ldexp left_shift less less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not "
    "logical_or logical_xor maximum minimum mod multiply negative nextafter not_equal positive pow power rad2deg "
    "radians reciprocal remainder right_shift rint sign signbit sin sinh spacing sqrt square subtract tan tanh "
    "true_divide trunc".split()
)
"""Functions of numpy that work element by element. An argument after the operands is overwritten with the result."""
UNARY = frozenset(
    "abs absolute arccos arccosh arcsin arcsinh arctan arctanh bitwise_not cbrt ceil conj conjugate cos cosh deg2rad "
    "degrees exp exp2 expm1 fabs floor invert isfinite isinf isnan log log10 log1p log2 logical_not negative positive "
    "rad2deg radians reciprocal rint sign signbit sin sinh spacing sqrt square tan tanh trunc".split()
)
"""Those of them with one operand."""
PROVING = frozenset(
    "all any argmax argmin argpartition argsort cumprod cumsum max mean min partition prod ptp sort std sum var".split()
)
"""Methods of arrays that numbers of numpy have too, where they are of no use."""
METADATA = frozenset({"shape", "dtype", "ndim", "size", "nbytes", "itemsize", "strides"})
"""Attributes of arrays that say nothing of their contents."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one function or method returns and overwrites."""

    name: str
    params: tuple[str, ...]
    writes: tuple[str, ...]
    result: str  # a word of the notation, without its parameter
    of: str  # the parameter that the result has its memory, or its number of dimensions, from


@cache
def rows() -> dict[str, Row]:
    """The table, by full names: ``numpy.split``, ``numpy.ndarray.fill``."""
    found: dict[str, Row] = {}
    owners: list[str] = []
    for line in _TABLE.strip().splitlines():
        if "|" not in line:
            owners = ["numpy" if owner == "numpy" else f"numpy.{owner}" for owner in line.split()]
            continue
        names, params, writes, result = line.split("|")
        kind, _, of = result.rstrip(")").partition("(")
        for owner in owners:
            for name in names.split():
                found[f"{owner}.{name}"] = Row(name, tuple(params.split()), tuple(writes.split()), kind, of)
    return found


def lookup(name: str) -> Row | None:
    """Return the row of a function or method, by its full name; None if numpy has no such one, or nothing is known."""
    found = rows().get(name)
    if found is not None or not name.startswith("numpy."):
        return found
    function, _, method = name.removeprefix("numpy.").partition(".")
    if function in UFUNCS:
        if method == "at":
            return rows()["numpy.ufunc.at"]
        operands = ("x1",) if function in UNARY else ("x1", "x2")
        return Row(function, (*operands, "out"), (), "fresh", "") if not method else None
    return None


def gives_output(name: str, count: int, keywords: list[str | None]) -> bool:
    """Return whether a call of a function of numpy may overwrite an argument, which its name does not tell.

    ``np.maximum(x, y, x)`` has its output after ``count`` operands, and ``np.nan_to_num(x, copy=False)`` its input.
    """
    if name == "nan_to_num":
        return count > 1 or "copy" in keywords
    return name in UFUNCS and count > (1 if name in UNARY else 2)


READING = frozenset({"readinto", "readinto1", "recv_into"})
"""Methods of files and sockets that fill the buffer that they are given, over which an array or a tensor may lie."""


@cache
def writers() -> frozenset[str]:
    """The last names of the functions and methods that overwrite an argument."""
    return frozenset(name.rpartition(".")[2] for name, row in rows().items() if row.writes)


@cache
def writing_methods() -> frozenset[str]:
    """The methods of arrays that overwrite them."""
    return frozenset(row.name for name, row in rows().items() if name.startswith("numpy.ndarray.") and row.writes)
