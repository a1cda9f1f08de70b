"""Whether programs end as without the sanitizer: each operator and module of PyTorch's own tests, all samples.

    python tests/benchmarks/fidelity.py                # operators and modules, forward and backward
    python tests/benchmarks/fidelity.py --only conv    # those with `conv` in their name

Each sample is run plainly, twice, and then in each mode of the sanitizer. Results, gradients and errors have to be
equal, bit by bit; what differs in the last bits only is counted apart: under a dispatch mode, PyTorch adds some sums in
another order. What differs between the plain runs is not compared, nor what ``empty`` operators return; what takes more
than a minute is cut. Prints the number of runs and each difference; exits with 1 if there is one.
"""

import argparse
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from torch.utils._pytree import tree_flatten

from flake8_inplace.runtime import inplace_sanitizer
from flake8_inplace.runtime.children import in_children

MODES: dict[str, dict[str, Any]] = {
    "raise": {},
    "fingerprint": {"fingerprint": True},
    "stale reads": {"mode": "record", "fingerprint": True, "stale_reads": True},
}
SECONDS = 60
Run = Callable[[], Any]


class _TooLong(Exception):
    pass


def _differentiable(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def _copied(value: Any) -> Any:
    leaves, spec = tree_flatten(value)
    fresh = [
        leaf.detach().clone().requires_grad_(leaf.requires_grad) if isinstance(leaf, torch.Tensor) else leaf
        for leaf in leaves
    ]
    return spec.unflatten(fresh) if hasattr(spec, "unflatten") else torch.utils._pytree.tree_unflatten(fresh, spec)


def outcome(function: Callable[..., Any], given: tuple[Any, Any, Any], options: dict[str, Any] | None) -> Any:
    """What a call ends with: the results, then the gradients of what it was given; or its error."""
    torch.manual_seed(0)
    first, args, kwargs = _copied(given)
    try:
        with inplace_sanitizer(**options) if options is not None else nullcontext():
            results = _differentiable(function(first, *args, **kwargs))
            seen = [result for result in results if result.requires_grad and result.is_floating_point()]
            if seen:
                torch.autograd.backward([result.sum() for result in seen])
    except (RuntimeError, ValueError, TypeError, NotImplementedError, IndexError, AssertionError) as error:
        return f"{type(error).__mro__[-3].__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return [*results, *(tensor.grad for tensor in _differentiable((first, args, kwargs)))]


def equal(one: Any, other: Any, tolerance: float = 0.0) -> bool:
    """Whether two outcomes are the same, bit by bit or nearly."""
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str) and one == other
    return len(one) == len(other) and all(map(partial(_same, tolerance), one, other))


def _same(tolerance: float, one: torch.Tensor | None, other: torch.Tensor | None) -> bool:
    if one is None or other is None:
        return one is other
    if one.layout is not torch.strided or one.is_quantized or one.is_nested or one.device.type == "meta":
        return str(one) == str(other)
    if (one.shape, one.dtype) != (other.shape, other.dtype):
        return False
    reals = [torch.view_as_real(each.resolve_conj()) if each.is_complex() else each for each in (one, other)]
    numbers = [torch.nan_to_num(each.detach().double()) for each in reals]
    return torch.allclose(*numbers, rtol=tolerance, atol=tolerance)


def calls(name: str) -> Iterator[tuple[str, Callable[..., Any], tuple[Any, Any, Any]]]:
    """The samples of an operator, with its in-place form, or of a module."""
    for op in (op for op in op_db if f"operator {op.full_name}" == name):
        dtype = next(
            (dtype for dtype in (torch.float64, torch.float32, torch.complex128) if dtype in op.dtypes), torch.int64
        )
        differentiable = op.supports_autograd and dtype is not torch.int64
        for at, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=differentiable)):
            given = (sample.input, sample.args, sample.kwargs)
            yield f"{name}[{at}]", op.op, given
            if op.inplace_variant is not None:
                written = op.inplace_variant
                yield f"{name}_[{at}]", lambda x, *a, f=written, **k: f(_plain(x), *a, **k), given
    for info in (info for info in module_db if f"module {info.name}" == name):
        for training in (True, False):
            samples = info.module_inputs_func(
                info, device="cpu", dtype=torch.float64, requires_grad=True, training=training
            )
            for at, sample in enumerate(samples):
                if sample.forward_input is None:
                    continue
                made, forward = sample.constructor_input, sample.forward_input

                def run(
                    _: Any, *args: Any, info: Any = info, made: Any = made, train: bool = training, **kwargs: Any
                ) -> Any:
                    module = info.module_cls(*made.args, **made.kwargs).double().train(train)
                    return module(*args, **kwargs), [*module.parameters(), *module.buffers()]

                yield f"{name}[{at}]{'' if training else ' eval'}", run, (None, forward.args, forward.kwargs)


def _plain(value: Any) -> Any:
    """What an in-place form may be called on: no leaf."""
    return value * 1 if isinstance(value, torch.Tensor) and value.requires_grad else value


def compared(names: Sequence[str]) -> list[tuple[Counter[str], list[str]]]:
    """The runs of some operators and modules, and what differs."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _stop)
    counted: Counter[str] = Counter()
    different = []
    for name in names:
        signal.alarm(SECONDS)
        try:
            for place, function, given in calls(name):
                plain = outcome(function, given, None)
                if not equal(plain, outcome(function, given, None)):
                    counted["not the same twice"] += 1
                    continue
                counted["errors" if isinstance(plain, str) else "samples"] += 1
                for mode, options in MODES.items():
                    counted["runs"] += 1
                    found = outcome(function, given, options)
                    if not equal(plain, found) and equal(plain, found, 1e-12):
                        counted["different in the last bits"] += 1
                    elif not equal(plain, found):
                        different.append(f"{place}, {mode}: {_told(plain)} became {_told(found)}")
        except _TooLong:
            counted["cut"] += 1
        finally:
            signal.alarm(0)
        counted["names"] += 1
    return [(counted, different)]


def _told(found: Any) -> str:
    return found if isinstance(found, str) else "other results or gradients" if found else "nothing"


def _stop(*_: object) -> None:
    raise _TooLong


def _died(name: str, why: str) -> tuple[Counter[str], list[str]]:
    return Counter(), [f"{name}: {why}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="operators and modules with this in their name")
    options = parser.parse_args()
    names = [f"operator {op.full_name}" for op in op_db if "empty" not in op.name]
    names += [f"module {info.name}" for info in module_db]
    total: Counter[str] = Counter()
    failed = []
    for counted, different in in_children(sorted({n for n in names if options.only in n}), compared, _died):
        total += counted
        failed += different
        for line in different:
            print(line, flush=True)
    print(", ".join(f"{number} {what}" for what, number in (*total.items(), ("different", len(failed)))))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
