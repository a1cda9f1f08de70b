"""The table of numpy against numpy: every row is executed, and everything that has no row is shown to need none."""

from __future__ import annotations

import inspect
import io
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from flake8_inplace.torchfacts import arrays

#: The arguments of a call, where those of the first attempts below are not right.
CALLS = {
    "swapaxes": "{a}, 0, 1",
    "moveaxis": "{a}, 0, 1",
    "rollaxis": "{a}, 1",
    "expand_dims": "{a}, 0",
    "squeeze": "{a}[:1]",
    "trim_zeros": "{a}[0]",
    "broadcast_to": "{a}, (2, 3, 4)",
    "as_strided": "{a}, (2,), (8,)",
    "sliding_window_view": "{a}, (2, 2)",
    "split": "{a}, 2, 1",
    "array_split": "{a}, 2",
    "hsplit": "{a}, 2",
    "vsplit": "{a}, 3",
    "dsplit": "{a}.reshape(1, 3, 4), 2",
    "reshape": "{a}, (4, 3)",
    "copyto": "{a}, 7.0",
    "put": "{a}, [0], [7.0]",
    "place": "{a}, np.ones((3, 4), bool), [7.0]",
    "putmask": "{a}, np.ones((3, 4), bool), 7.0",
    "fill_diagonal": "{a}, 7.0",
    "put_along_axis": "{a}, np.zeros((3, 1), int), 7.0, 1",
    "full": "(3, 4), 7.0",
    "full_like": "{a}, 7.0",
    "linspace": "0, 1, 4",
    "logspace": "0, 1, 4",
    "geomspace": "1, 2, 4",
    "concatenate": "[{a}, {a}]",
    "concat": "[{a}, {a}]",
    "stack": "[{a}, {a}]",
    "vstack": "[{a}, {a}]",
    "hstack": "[{a}, {a}]",
    "dstack": "[{a}, {a}]",
    "column_stack": "[{a}, {a}]",
    "tile": "{a}, 1",
    "repeat": "{a}, 1",
    "pad": "{a}, 0",
    "append": "{a}, []",
    "insert": "{a}, [], []",
    "delete": "{a}, []",
    "roll": "{a}, 0",
    "where": "{a} > 1, {a}, {a}",
    "clip": "{a}, 0, 20",
    "outer": "{a}, {a}",
    "kron": "{a}, {a}",
    "arange": "12.0",
    "eye": "3",
    "identity": "3",
    "zeros": "(3, 4)",
    "ones": "(3, 4)",
    "empty": "(3, 4)",
    "fill": "{a}, 7.0",
    "partition": "{a}[:, ::-1], 1",
    "sort": "{a}[:, ::-1]",
    "setfield": "{a}, 7.0, np.float64",
    "astype": "{a}, np.float64",
    "view": "{a}, np.float64",
    "__deepcopy__": "{a}, {{}}",
    "shuffle": "{a}.reshape(-1)",
    "at": "{a}, (0, 0), 7.0",
    "bincount": "[0, 1, 1]",
    "load": "file({a})",
    "memmap": "tempfile.TemporaryFile(), float, 'w+', 0, (3, 4)",
    "loadtxt": "['1 2', '3 4']",
    "genfromtxt": "['1 2', '3 4']",
    "fromiter": "[1.0, 2.0], float",
    "random": "(3, 4)",
    "integers": "0, 9, (3, 4)",
    "rand": "3, 4",
    "randn": "3, 4",
    "randint": "0, 9, (3, 4)",
    "random_sample": "(3, 4)",
    "standard_normal": "(3, 4)",
    "binomial": "9, 0.5, (3, 4)",
    "choice": "9, (3, 4)",
    "exponential": "1.0, (3, 4)",
    "rayleigh": "1.0, (3, 4)",
    "poisson": "1.0, (3, 4)",
    "standard_cauchy": "(3, 4)",
    "standard_exponential": "(3, 4)",
    "geometric": "0.5, (3, 4)",
    "triangular": "0.0, 1.0, 2.0, (3, 4)",
    "dirichlet": "[1.0, 2.0], (3, 4)",
    "multivariate_normal": "[0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], (3, 4)",
    "multinomial": "5, [0.5, 0.5], (3, 4)",
}
CALLS |= dict.fromkeys("standard_t chisquare pareto power weibull".split(), "1.0, (3, 4)")
TWO = "normal laplace logistic gumbel lognormal uniform beta gamma vonmises wald"
CALLS |= dict.fromkeys(TWO.split(), "1.0, 2.0, (3, 4)")


def file(a: Any) -> io.BytesIO:
    """A file that holds an array."""
    saved = io.BytesIO()
    np.save(saved, a)
    saved.seek(0)
    return saved


def evaluate(text: str, a: Any) -> tuple[Any, ...]:
    return tuple(eval(f"[{text.format(a='a')}]", {"np": np, "a": a, "file": file, "tempfile": tempfile}))


def function(name: str) -> Callable[..., Any]:
    """The function of a full name, with the array as its first argument."""
    if name == "numpy.ufunc.at":
        return np.add.at
    if name.startswith("numpy.random.Generator."):
        return getattr(np.random.default_rng(1), name.rpartition(".")[2])  # type: ignore[no-any-return]
    if name.startswith("numpy.random.RandomState."):
        return getattr(np.random.RandomState(1), name.rpartition(".")[2])  # type: ignore[no-any-return]
    found: Any = np
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def exists(name: str) -> bool:
    try:
        return callable(function(name))
    except AttributeError:
        return False


def shared(result: Any, a: np.ndarray) -> list[bool]:
    """Whether a result, or each of those in a list, has the memory of an array."""
    parts = result if isinstance(result, (list, tuple)) else [result]
    return [isinstance(part, np.ndarray) and np.shares_memory(part, a) for part in parts]


def call(name: str) -> tuple[np.ndarray, np.ndarray, Any]:
    """Call a function: the array that it was given, what that was before, and the result."""
    a = np.arange(12.0).reshape(3, 4)
    if name.endswith("ndarray.resize"):
        a = np.arange(12.0)
        a.resize((2, 3), refcheck=False)
        return a, np.arange(6.0).reshape(2, 3) + 1, None  # it has other elements, in the same object
    if name.endswith(".resize"):
        return a, a.copy(), np.resize(a, (3, 4))
    before = a.copy()
    text = CALLS.get(name.rpartition(".")[2], "{a}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return a, before, function(name)(*evaluate(text, a))


ROWS = sorted(name for name in arrays.rows() if exists(name))


#: What numpy has since version 2.
NEW = {"concat", "matrix_transpose", "permute_dims", "unstack"}


def test_every_row_is_of_something() -> None:
    assert {name.rpartition(".")[2] for name in arrays.rows() if not exists(name)} <= NEW


@pytest.mark.parametrize("name", ROWS)
def test_numpy_does_what_the_row_says(name: str) -> None:
    row = arrays.rows()[name]
    a, before, result = call(name)
    assert bool(row.writes) == (not np.array_equal(a, before)), "what it overwrites"
    if row.writes:
        assert row.writes == row.params[:1]
    memory = shared(result, a)
    wanted = {"view": True, "views": True, "same": True, "maybe": True}.get(row.result, False)
    assert memory and all(one is wanted for one in memory), memory
    assert isinstance(result, (list, tuple)) == (row.result == "views")
    if row.result == "same":
        assert result is a
    if row.result in ("fresh", "like", "blank", "sized"):
        assert isinstance(result, np.ndarray) and result.ndim > 0
    if row.result == "like":
        assert result.ndim == a.ndim


@pytest.mark.parametrize("name", [name for name in ROWS if arrays.rows()[name].result == "sized"])
def test_without_a_size_it_is_a_number(name: str) -> None:
    row, given = arrays.rows()[name], CALLS[name.rpartition(".")[2]].split("(")[0]
    args = evaluate(given, None) if row.params[0] != "d0" else ()
    assert np.ndim(function(name)(*args)) == 0
    if row.params[0] != "d0":
        assert np.ndim(function(name)(*args, size=2)) == 1


@pytest.mark.parametrize("name", [name for name in ROWS if arrays.rows()[name].result == "maybe"])
def test_maybe_is_a_copy_of_memory_in_another_order(name: str) -> None:
    a = np.arange(12.0).reshape(3, 4).T
    result = function(name)(a, (12,)) if name.endswith("reshape") else function(name)(a)
    assert np.shares_memory(result, a) is name.startswith("numpy.atleast_")


@pytest.mark.parametrize("name", ROWS)
def test_the_parameters_are_those_of_numpy(name: str) -> None:
    row = arrays.rows()[name]
    try:
        params = inspect.signature(function(name)).parameters
    except ValueError:  # numpy tells no signature of what is written in C
        return
    if any(param.kind is inspect.Parameter.VAR_POSITIONAL for param in params.values()):
        return
    named = [param for param in params if param not in ("self", "args", "kwargs")]
    if (
        not name.startswith("numpy.ndarray.")
        and "like" not in row.result
        and row.result not in ("fresh", "blank", "sized")
    ):
        assert row.params[: len(row.writes) or 1] == tuple(named[: len(row.writes) or 1])


def test_the_elementwise_functions_are_those_of_numpy() -> None:
    found = {name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)}
    single = {name for name in found if getattr(np, name).nout == 1 and getattr(np, name).signature is None}
    missing = {"isnat", "vecdot", "matvec", "vecmat", "bitwise_count", "bitwise_invert", "bitwise_left_shift"}
    aliases = {"acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_right_shift"}
    assert single >= arrays.UFUNCS
    assert single - arrays.UFUNCS <= missing | aliases
    assert {name for name in arrays.UFUNCS if getattr(np, name).nin == 1} == arrays.UNARY


@pytest.mark.parametrize("name", sorted(arrays.UFUNCS))
def test_an_argument_after_the_operands_is_overwritten(name: str) -> None:
    ufunc, row = getattr(np, name), arrays.lookup(f"numpy.{name}")
    assert row is not None and len(row.params) == ufunc.nin + 1
    operand = np.full(3, 1)
    with np.errstate(all="ignore"):
        out = np.full(3, 77.0).astype(ufunc(*[operand] * ufunc.nin).dtype)
    before = out.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ufunc(*[operand] * ufunc.nin, out) is out
    assert not np.array_equal(out, before) or out.dtype == bool


def _others() -> Iterator[str]:
    """Everything of numpy that can be called with an array first, and has no row and no model."""
    modelled = {"array", "asarray", "asanyarray", "ascontiguousarray", "asarray_chkfinite", "require", "from_dlpack"}
    modelled |= {"frombuffer", "nditer"}
    for name in np.__all__:
        found = getattr(np, name)
        known = name in modelled or f"numpy.{name}" in arrays.rows()
        if callable(found) and not known and not isinstance(found, (type, np.ufunc)):
            yield f"numpy.{name}"
    for name in dir(np.ndarray):
        if name[0] != "_" and callable(getattr(np.ndarray, name)) and f"numpy.ndarray.{name}" not in arrays.rows():
            yield f"numpy.ndarray.{name}"


#: What shares memory, and has no row for the reason given. It is unknown to the linter, which then reports nothing.
UNKNOWN = {
    "numpy.asfortranarray": "mostly a copy",
    "numpy.asmatrix": "a matrix, which nobody uses",
    "numpy.bmat": "a matrix, which nobody uses",
    "numpy.broadcast_arrays": "read-only views",
    "numpy.diag": "a read-only view of a matrix, a new matrix of a vector",
    "numpy.einsum": "a view for some subscripts",
    "numpy.imag": "a view of complex memory",
    "numpy.real_if_close": "for numbers that may be complex",
    "numpy.ndarray.conj": "the array itself where it is real",
    "numpy.ndarray.conjugate": "the array itself where it is real",
    "numpy.ndarray.byteswap": "in place only where asked to",
    "numpy.ndarray.getfield": "for structured types",
    "numpy.ndarray.setflags": "overwrites nothing",
    "numpy.astype": "a copy unless asked not to",
    "numpy.fix": "its second argument is `out`",
    "numpy.isneginf": "its second argument is `out`",
    "numpy.isposinf": "its second argument is `out`",
    "numpy.mintypecode": "of letters",
    "numpy.polyint": "the array itself where it is integrated no time",
}
ARGUMENTS = ("{a}", "{a}, {a}", "{a}, 1", "{a}, 0", "{a}, {a}, {a}", "[{a}, {a}]", "'ij,jk', {a}, {a}.T")


@pytest.mark.parametrize("name", sorted(_others()))
def test_what_has_no_row_neither_shares_nor_overwrites(name: str) -> None:
    """Call it in a few ways. Those that no way fits take other things than arrays."""
    if any(word in name for word in ("save", "tofile", "dump", "set_printoptions", "seterr", "test", "info", "show")):
        return
    for text in ARGUMENTS:
        a = np.arange(12.0).reshape(3, 4)
        before = a.copy()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = function(name)(*evaluate(text, a))
        except Exception:  # these are not its arguments
            continue
        assert name in UNKNOWN or (np.array_equal(a, before) and not any(shared(result, a))), text
