"""Sample calls for the operators of the table: from the recipes, from `op_db`, or improvised."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

from . import aten_recipes, handwritten, recipes
from .execution import Overload
from .notation import Op
from .schemas import callable_for

RECIPES = recipes.RECIPES | aten_recipes.RECIPES
Sample = tuple[list[Overload], Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def calls(table: dict[str, list[Overload]]) -> Iterator[Sample]:
    """Yield what `measure` takes, call by call.

    Measure each before the next is asked for: the last ones are for overloads that no sample has run.
    """
    for names, chosen in samples(table):
        # torch.sin and Tensor.sin are the same rows.
        for name in {tuple(map(id, table[name])): name for name in reversed(names)}.values():
            for args, kwargs in chosen:
                kwargs = given(name, kwargs)
                yield table[name], callable_for(name), args, kwargs
                if table[name][0].op.inplace:
                    yield table[f"{name}(inplace)"], callable_for(name), args, {**kwargs, "inplace": True}
    for name, overloads in table.items():
        if name.startswith("torch.ops.aten._"):
            continue  # private operators do not check what they are given
        for o in overloads:
            for args, kwargs in improvised_calls(o.op):
                if o.runs:
                    break
                yield [o], callable_for(name), args, kwargs


def given(name: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Options that make an overload of their own count as given only if they are switched on."""
    options = (handwritten.OPTIONS.get(name), "return_inverse", "return_counts")
    return {k: v for k, v in kwargs.items() if k not in options or (v is not None and v is not False)}


def samples(table: Collection[str]) -> Iterator[tuple[list[str], list[recipes.Call]]]:
    """Sample calls, and the names of the table they are for: those of the recipes, then those of op_db."""
    for name, recipe in RECIPES.items():
        if name in table:
            torch.manual_seed(0)
            yield [name], recipe()
    for info in op_db:
        names = [name for name in opinfo_names(info) if name in table and name not in RECIPES]
        if names:
            yield names, opinfo_calls(info)


def opinfo_names(info: Any) -> Iterator[str]:
    """The names an entry of op_db, or one of its aliases, may have in the table."""
    for name in dict.fromkeys(entry.name for entry in (info, *info.aliases)):
        yield f"torch.{name}"
        if "." not in name:
            yield from (f"torch.nn.functional.{name}", f"Tensor.{name}", f"Tensor.{name}_", f"torch.ops.aten.{name}")
        elif name.startswith("nn.functional."):
            yield f"torch.ops.aten.{name.removeprefix('nn.functional.')}"
        elif name.startswith(("special.", "linalg.")):
            yield f"Tensor.{name.partition('.')[2]}"


DTYPES = (torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64)
MOST_CALLS = 120  # pooling has some 1500, all alike; every n-th would miss what alternates


def opinfo_calls(info: Any, dtypes: Sequence[torch.dtype] = DTYPES) -> list[recipes.Call]:
    """The samples of an entry, of the first of these dtypes that it supports."""
    dtype = next((d for d in dtypes if d in info.dtypes), None)
    if dtype is None:
        return []
    torch.manual_seed(0)
    calls = [((s.input, *s.args), dict(s.kwargs)) for s in info.sample_inputs("cpu", dtype, requires_grad=False)]
    return calls if len(calls) <= MOST_CALLS else random.Random(0).sample(calls, MOST_CALLS)


# What to pass for a required option of which nothing is known.
GUESSES: dict[str, Any] = {"dim": 0, "dim0": 0, "dim1": 1, "n": 1, "index": 0, "size": (3, 3)}


def improvised_calls(op: Op) -> Iterator[recipes.Call]:
    """For an op without samples: small tensors of floats, then of integers, then of booleans."""
    if all(p.kind == "other" for p in op.params):
        return
    for make in (recipes.f, recipes.i, recipes.b):
        torch.manual_seed(0)
        kwargs: dict[str, Any] = {}
        args: list[Any] = []
        for p in op.params:
            if p.optional and p.kind == "other":
                continue
            tensors = [make(3, 3), make(3, 3)] if p.kind == "tensors" else make(3, 3)
            value = GUESSES.get(p.name, 2) if p.kind == "other" else tensors
            if p.kwonly or len(args) < op.params.index(p):
                kwargs[p.name] = value
            else:
                args.append(value)
        yield tuple(args), kwargs
