"""Write `ops.json`: `python -m flake8_inplace.torchfacts.generate [--check]`. Development only; needs the pinned torch.

Where a fact comes from:

- An op with a formula in PyTorch's own derivatives.yaml is read from there, by PyTorch's own parser: the formula names
  what is saved, and the rule of `guard_for` in gen_variable_type.py says when. In-place variants inherit the formula;
  what they need of their own input they clone, so only their result and their other operands count.
- Everything else (composites such as dropout or layer_norm, functions written in Python, nn modules) is executed with
  the samples of `op_db`, once for each input that may require grad, with hooks that note what is saved. A saved tensor
  is recognised by its storage: that of an argument, or that of an output. Names without samples have a recipe here.
- Signatures, in-place writes and aliases come from the schemas of native_functions.yaml, from annotations of the Python
  functions, and from tables below for what is bound by hand in C++. What an executed output aliases is measured.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import decimal
import fractions
import inspect
import io
import json
import logging
import pathlib
import queue
import random
import re
import sys
import threading
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
import torchgen
from torch.autograd.graph import saved_tensors_hooks
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map
from torchgen.api.autograd import NativeFunctionWithDifferentiabilityInfo, match_differentiability_info
from torchgen.gen import parse_native_yaml
from torchgen.model import NativeFunction, SchemaKind, Variant
from torchgen.packaged.autograd.gen_python_functions import should_generate_py_binding
from torchgen.packaged.autograd.gen_variable_type import DONT_REQUIRE_DERIVATIVE
from torchgen.packaged.autograd.load_derivatives import load_derivatives

from . import recipes
from .ops import FORMAT, TABLE, Op, Out, Param, Save, format_op, parse_op

MODULES = {
    "torch": torch,
    "torch.nn.functional": F,
    "torch.linalg": torch.linalg,
    "torch.fft": torch.fft,
    "torch.special": torch.special,
    "torch.nn.init": torch.nn.init,
}

# --------------------------------------------------------------------------------------------------------------------
# Schemas: native_functions.yaml and derivatives.yaml


def native_functions() -> list[NativeFunctionWithDifferentiabilityInfo]:
    """Every ATen function with its derivative formula, if it has one."""
    packaged = Path(torchgen.__file__).parent / "packaged"
    native = str(packaged / "ATen/native/native_functions.yaml")
    tags = str(packaged / "ATen/native/tags.yaml")
    formulas, _ = load_derivatives(str(packaged / "autograd/derivatives.yaml"), native, tags)
    return match_differentiability_info(list(parse_native_yaml(native, tags).native_functions), formulas)


# Schemas skipped by the binding generator, whose Python methods or overloads take the same arguments.
BOUND_BY_HAND = {"mul", "add", "sub", "div", "contiguous", "copy_", "nonzero", "index", "numpy_T", "matrix_H", "mT", "mH"}
PROPERTIES = {"numpy_T": "T", "matrix_H": "H"}
# Python accepts a number as the first operand of these: torch.mul(2, x).
NUMBER_FIRST = {"add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide"}


def kind_of_type(text: str) -> str:
    if re.match(r"Tensor\??\[", text):
        return "tensors"
    return "tensor" if text.startswith("Tensor") and text != "TensorOptions" else "other"


def schema_params(f: NativeFunction) -> tuple[Param, ...]:
    arguments = f.func.arguments
    params = []
    positional = [a for a in arguments.flat_positional if a.name != "self"]
    for a in arguments.flat_positional:
        kind = kind_of_type(str(a.type))
        # The argument parser takes x.view(2, 3) for x.view((2, 3)) where one list of ints is the only argument.
        varargs = len(positional) == 1 and kind == "other" and re.match(r"(Sym)?[iI]nt\[", str(a.type)) is not None
        optional = a.default is not None or str(a.type).endswith("?")
        params.append(Param(a.name, kind, optional and a.default is not None, varargs))
    for a in arguments.flat_kwarg_only:
        params.append(Param(a.name, kind_of_type(str(a.type)), a.default is not None or str(a.type).endswith("?"), False, True))
    if arguments.tensor_options is not None:
        params.append(Param("requires_grad", "other", True, False, True))
    return tuple(params)


def schema_outs(fn: NativeFunctionWithDifferentiabilityInfo) -> tuple[Out, ...]:
    f = fn.func
    info = fn.info.get("Default") if fn.info else None
    aliased: dict[str, str] = {}
    for a in f.func.arguments.flat_all:
        if a.annotation is not None:
            for letter in a.annotation.alias_set:
                aliased[letter] = a.name
    never = f.func.name.name.base in DONT_REQUIRE_DERIVATIVE or str(f.func.name.name) in DONT_REQUIRE_DERIVATIVE
    outs = []
    for i, r in enumerate(f.func.returns):
        text = str(r.type)
        differentiable = not never and text.startswith("Tensor")
        if info is not None and info.output_differentiability is not None:
            differentiable = differentiable and bool(info.output_differentiability[i])
        if not text.startswith("Tensor"):
            if len(f.func.returns) == 1:
                return ()
            outs.append(Out(differentiable=False))
        elif r.annotation is None:
            outs.append(Out("fresh", None, differentiable, "[" in text))
        else:
            of = next((aliased[letter] for letter in r.annotation.alias_set if letter in aliased), None)
            kind = "same" if r.annotation.is_write else "view"
            outs.append(Out(kind if of else "fresh", of, differentiable, "[" in text))
    return tuple(outs)


def formula_saves(fn: NativeFunctionWithDifferentiabilityInfo) -> tuple[Save, ...] | None:
    """What the formula of derivatives.yaml saves, and when; None if this op is not run by a formula."""
    f = fn.func
    info = fn.info.get("Default") if fn.info else None
    # A composite with a formula (matmul, linear) has it for nested tensors only.
    if info is None or not info.has_derivatives or f.has_composite_implicit_autograd_kernel:
        return None
    inplace = f.func.kind() == SchemaKind.inplace
    kinds = {a.name: kind_of_type(str(a.type)) for a in f.func.arguments.flat_all}
    returns = [r.name or (f"result{i}" if len(f.func.returns) > 1 else "result") for i, r in enumerate(f.func.returns)]
    differentiable = {name for d in info.derivatives for name in d.var_names}
    with_derivative = [name for name in kinds if name in differentiable]
    has_list = any(kinds[name] == "tensors" for name in with_derivative)
    saves: dict[str, set[str]] = {}

    def guard(name: str) -> Iterable[str]:
        """The inputs that must require grad for this input to be saved: PyTorch's own `guard_for`."""
        used_in = [d for d in info.derivatives if any(str(s.nctype.name) == name for s in d.saved_inputs)]
        plain = all(
            str(s.nctype.type.cpp_type()) == "at::Tensor"
            for d in used_in
            for s in d.saved_inputs
            if str(s.nctype.name) == name
        )
        if has_list or "backward" in info.name or len(with_derivative) <= 1 or not plain or len(used_in) != 1:
            return with_derivative
        derivative = used_in[0]
        if len(derivative.var_names) == 1:
            return derivative.var_names
        wrapped = re.search(rf"wrap_opt_if\({name},(.*?)\)", derivative.formula)
        if wrapped is None:
            return with_derivative
        return [with_derivative[int(i)] for i in re.findall(r"grad_input_mask\[(\d+)\]", wrapped.group(1))]

    for saved in info.all_saved_inputs:
        name = str(saved.nctype.name)
        if saved.expr != name or kinds.get(name, "other") == "other":
            continue  # a size, a dtype, a number
        if inplace and name == "self":
            continue  # autograd keeps a clone
        saves.setdefault(name, set()).update(guard(name))
    for saved in info.all_saved_outputs:
        name = str(saved.nctype.name)
        if saved.expr != name:
            continue
        index = 0 if inplace or name == "result" else returns.index(name) if name in returns else int(name[6:])
        saves.setdefault(slot_of(index), set()).update(with_derivative)
    order = list(kinds)
    return tuple(Save(slot, tuple(sorted(needs, key=order.index))) for slot, needs in sorted(saves.items()) if needs)


def slot_of(index: int) -> str:
    return f"result{index}" if index else "result"


def schema_names(f: NativeFunction) -> Iterator[str]:
    """The Python names a schema is reached by."""
    base = str(f.func.name.name)
    if Variant.method in f.variants:
        yield f"Tensor.{PROPERTIES.get(base, base)}"
    if Variant.function not in f.variants:
        return
    if f.python_module is None:
        yield f"torch.{base}"
        yield f"torch.nn.functional.{base}"
    elif f.python_module == "nn":
        yield f"torch.nn.functional.{base}"
    elif f.python_module in ("linalg", "fft", "special"):
        yield f"torch.{f.python_module}.{base.removeprefix(f.python_module + '_')}"


# --------------------------------------------------------------------------------------------------------------------
# Names


@dataclass
class Overload:
    """One row in the making."""

    op: Op
    exact: bool  # the saves come from a formula; measuring adds nothing to them
    runs: list[Run] = field(default_factory=list)


def resolve(name: str) -> Any:
    """The Python object behind a name of the table, or None."""
    if name.startswith("Tensor."):
        return getattr(torch.Tensor, name.removeprefix("Tensor."), None)
    path, _, last = name.rpartition(".")
    return getattr(MODULES.get(path), last, None)


def is_bound(name: str, f: NativeFunction) -> bool:
    """Is the Python object of this name the generated binding of this schema, not a Python function around it?"""
    obj = resolve(name)
    last = name.rpartition(".")[2]
    if obj is None or inspect.isfunction(obj) or last.startswith("_") and not last.startswith(("__", "_foreach_")):
        return False
    if name.startswith("Tensor."):
        return True
    return getattr(obj, "__name__", None) == str(f.func.name.name)


def schema_table() -> dict[str, list[Overload]]:
    table: dict[str, list[Overload]] = defaultdict(list)
    for fn in native_functions():
        f = fn.func
        base = str(f.func.name.name)
        if f.func.kind() == SchemaKind.out or "Dimname" in str(f.func) or "out_dtype" in str(f.func) or "generated" in f.tags and "view_copy" not in f.tags:
            continue
        if not should_generate_py_binding(f) and base.rstrip("_") not in BOUND_BY_HAND and base not in BOUND_BY_HAND:
            continue
        saves = formula_saves(fn)
        writes = tuple(a.name for a in f.func.arguments.flat_all if a.annotation is not None and a.annotation.is_write)
        op = Op(short_name(base), schema_params(f), saves or (), writes, schema_outs(fn))
        overload = Overload(op, saves is not None)
        for name in schema_names(f):
            if is_bound(name, f):
                method = name.startswith("Tensor.")
                table[name].append(self_first(overload) if method else overload)
                if not method and base in NUMBER_FIRST and op.params[1].kind == "tensor":
                    table[name].append(Overload(number_first(op), overload.exact))
    for overloads in table.values():
        overloads.sort(key=lambda o: [p.kind == "other" for p in o.op.params])
    return table


def self_first(overload: Overload) -> Overload:
    """where(condition, self, other) is x.where(condition, other) as a method."""
    params = overload.op.params
    first = next(p for p in params if p.name == "self")
    if first == params[0]:
        return overload
    return replace(overload, op=replace(overload.op, params=(first, *(p for p in params if p != first))))


def number_first(op: Op) -> Op:
    saves = [Save(s.slot, tuple(n for n in s.needs if n != "self"), s.sure) for s in op.saves if s.slot != "self"]
    params = (Param(op.params[0].name, "other"), *op.params[1:])
    return replace(op, params=params, saves=tuple(s for s in saves if s.needs))


def short_name(base: str) -> str:
    base = PROPERTIES.get(base, DUNDERS.get(base, base))
    for prefix in ("linalg_", "fft_", "special_"):
        if base.startswith(prefix):
            return base.removeprefix("special_") if prefix == "special_" else base.replace("_", ".", 1)
    return base


def python_params(function: Callable[..., Any]) -> tuple[Param, ...]:
    params = []
    for p in inspect.signature(function).parameters.values():
        text = p.annotation if isinstance(p.annotation, str) else getattr(p.annotation, "__name__", "") or str(p.annotation)
        text = str(p.annotation) if "Tensor" not in text else text
        kind = "other"
        if "Tensor" in text and "Callable" not in text:
            kind = "tensors" if re.search(r"(list|List|tuple|Tuple|Sequence)\[", text) else "tensor"
        varargs = p.kind is p.VAR_POSITIONAL
        if p.kind is p.VAR_KEYWORD:
            continue
        params.append(Param(p.name, "tensors" if varargs and kind == "tensor" else kind, p.default is not p.empty, varargs, p.kind is p.KEYWORD_ONLY))
    return tuple(params)


# --------------------------------------------------------------------------------------------------------------------
# Execution


@dataclass(frozen=True)
class Run:
    """What one call did with the tensors of one parameter requiring grad."""

    requires: str | None
    present: frozenset[str]  # parameters that held a tensor
    empty: bool
    saved: frozenset[str]
    written: frozenset[str]
    outs: tuple[Out, ...]  # of this run: differentiable says whether it did require grad


def bind(op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments by parameter, or None if this overload does not take them."""
    bound: dict[str, Any] = {}
    rest = list(args)
    for p in op.params:
        if p.kwonly:
            break
        if p.varargs and rest:
            many = rest if len(rest) > 1 or not isinstance(rest[0], (list, tuple, torch.Size)) else rest[0]
            bound[p.name], rest = many, []
        elif rest:
            bound[p.name] = rest.pop(0)
    if rest:
        return None
    known = {p.name for p in op.params}
    for name, value in kwargs.items():
        if name not in known or name in bound:
            return None
        bound[name] = value
    for p in op.params:
        if p.name not in bound:
            if not p.optional and not (p.varargs and p.kind == "tensors"):
                return None
        elif not fits(p, bound[p.name]):
            return None
    return bound


def fits(p: Param, value: Any) -> bool:
    if value is None:
        return p.optional or p.kind != "tensors"
    tensors = isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value)
    if p.kind == "tensor":
        return isinstance(value, torch.Tensor)
    if p.kind == "tensors":
        return tensors or isinstance(value, (list, tuple)) and not value
    return not tensors and not isinstance(value, torch.Tensor)


def tensors_in(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def storage(t: torch.Tensor) -> int | None:
    try:
        return t.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):  # sparse, fake and other tensors without memory of their own
        return None


def differentiable(t: torch.Tensor) -> bool:
    return t.dtype.is_floating_point or t.dtype.is_complex


def execute(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], bound: dict[str, Any], requires: str | None, many: bool = False
) -> Run | None:
    """Call once with the tensors of `requires` requiring grad; None if the arguments cannot be told apart."""
    fresh: dict[int, torch.Tensor] = {}
    owner: dict[int, str] = {}
    held: dict[str, list[torch.Tensor]] = {}
    for name, value in bound.items():
        for t in tensors_in(value):
            if id(t) in fresh or storage(t) is None:
                return None
            copy = t.detach().clone()
            if name == requires and differentiable(t):
                copy = copy.requires_grad_().clone()  # not a leaf: in-place is legal
            fresh[id(t)] = copy
            owner[copy.untyped_storage()._cdata] = name
            held.setdefault(name, []).append(copy)

    def swap(value: Any) -> Any:
        return tree_map(lambda leaf: fresh[id(leaf)] if isinstance(leaf, torch.Tensor) else leaf, value)

    new_args, new_kwargs = swap(list(args)), swap(kwargs)
    versions = {name: [t._version for t in ts] for name, ts in held.items()}
    kept: list[torch.Tensor] = []

    def pack(t: torch.Tensor) -> torch.Tensor:
        kept.append(t.detach())
        return t

    torch.manual_seed(0)
    with saved_tensors_hooks(pack, lambda t: t):
        result = function(*new_args, **new_kwargs)
    written = {name for name, ts in held.items() if any(t._version > v for t, v in zip(ts, versions[name]))}
    outputs: list[Any] = list(result) if isinstance(result, tuple) else [result]
    made: dict[int, str] = {}
    if many:
        outputs = [outputs if isinstance(result, tuple) else result]
    for i, output in enumerate(outputs):
        for t in tensors_in(output):
            made.setdefault(storage(t) or 0, slot_of(i))
    saved = set()
    for t in kept:
        place = storage(t) or 0
        if place in owner and owner[place] not in written:
            saved.add(owner[place])
        elif place in made:
            saved.add(made[place])
        elif place in owner:
            saved.add("result")
    outs = tuple(classify(output, held) for output in outputs)
    everything = [t for ts in held.values() for t in ts]
    return Run(
        requires,
        frozenset(held),
        any(t.numel() == 0 for t in everything),
        frozenset(saved),
        frozenset(written),
        outs,
    )


def classify(output: Any, held: dict[str, list[torch.Tensor]]) -> Out:
    """What one output is in this run; of kind "none" if it holds no tensor."""
    tensors = tensors_in(output)
    many = isinstance(output, (list, tuple))
    if not tensors:
        return Out("fresh" if many else "none", None, False, many)
    t = tensors[0]
    rest = (any(o.requires_grad for o in tensors), many, not any(map(differentiable, tensors)))
    for name, inputs in held.items():
        for source in inputs:
            if source is t:
                return Out("same", name, *rest)
            if storage(source) == storage(t) and storage(t) is not None:
                return Out(kind_of_view(t, source), name, *rest)
    return Out("fresh", None, *rest)


def kind_of_view(t: torch.Tensor, source: torch.Tensor) -> str:
    before = t._version
    with torch.no_grad():
        source.zero_()
    if t._version == before:
        return "unsafe"
    if source.requires_grad and not t.requires_grad and differentiable(t):
        return "detached"
    if t.requires_grad:
        try:
            t.zero_()
        except RuntimeError as error:
            if "multiple views" in str(error):
                return "views"
            if "single memory location" in str(error):
                return "expand"
    if any(stride == 0 and size > 1 for stride, size in zip(t.stride(), t.shape)):
        return "expand"
    return "view"


def measure(overloads: list[Overload], function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Run a call once per parameter that may require grad and note the runs at the overload that takes it."""
    for overload in overloads:
        bound = bind(overload.op, args, kwargs)
        if bound is None:
            continue
        if overload.exact and len(overload.runs) >= 20:
            return True  # only its outputs are measured
        candidates: list[str | None] = [n for n, v in bound.items() if any(differentiable(t) for t in tensors_in(v))]
        ran = False
        for requires in candidates or [None]:
            try:
                run = execute(function, args, kwargs, bound, requires, len(overload.op.outs) == 1 and overload.op.outs[0].many)
            except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, AttributeError, AssertionError):
                continue  # this input does not support grad, or the sample asks for what this device lacks
            if run is not None:
                overload.runs.append(run)
                ran = True
        return ran
    return False


SURE = 0.5  # of the samples in which it could be saved: the rest are unusual options (p=0, a reduction of nothing)


def measured_saves(op: Op, runs: Sequence[Run]) -> tuple[Save, ...]:
    runs = [r for r in runs if not r.empty] or list(runs)
    could: Counter[tuple[str, str]] = Counter()
    did: Counter[tuple[str, str]] = Counter()
    slots = sorted({slot for r in runs for slot in r.saved})
    for r in runs:
        if r.requires is None:
            continue
        for slot in slots:
            if slot in r.present or slot.startswith("result"):
                could[slot, r.requires] += 1
                did[slot, r.requires] += slot in r.saved
    order = [p.name for p in op.params]
    saves = []
    for slot in slots:
        sure = [n for n in order if could[slot, n] and did[slot, n] / could[slot, n] >= SURE]
        rest = [n for n in order if did[slot, n] and n not in sure]
        if sure:
            saves.append(Save(slot, tuple(sure)))
        if rest:
            saves.append(Save(slot, tuple(rest), False))
    return tuple(saves)


def measured_outs(op: Op, runs: Sequence[Run]) -> tuple[Out, ...]:
    runs = [r for r in runs if not r.empty] or list(runs)
    width = Counter(len(r.outs) for r in runs).most_common(1)[0][0]
    runs = [r for r in runs if len(r.outs) == width]
    outs = []
    for i in range(width):
        seen = [r.outs[i] for r in runs]
        kinds = {out.kind for out in seen}
        if kinds == {"none"} and width == 1:
            return ()
        kind = "fresh" if kinds <= {"none", "fresh"} else kinds.pop() if len(kinds) == 1 else "expand" if kinds <= {"view", "expand"} else "maybe"
        kind = recipes.KINDS.get(op.name, kind)
        of = next((out.of for out in seen if out.of is not None), op.params[0].name) if kind != "fresh" else None
        grad = any(out.differentiable for out in seen)
        outs.append(Out(kind, of, grad, any(out.many for out in seen), not grad and all(out.integral for out in seen)))
    return tuple(outs)


def samples(table: dict[str, list[Overload]]) -> Iterator[tuple[str, list[recipes.Call]]]:
    """The sample calls of every name of the table: a recipe's, or those of op_db."""
    for name, recipe in recipes.RECIPES.items():
        if name in table:
            torch.manual_seed(0)
            yield name, recipe()
    for info in op_db:
        names = [name for entry in (info, *info.aliases) for name in opinfo_names(entry)]
        names = [name for name in dict.fromkeys(names) if name in table and name not in recipes.RECIPES]
        if names:
            calls = opinfo_calls(info)
            for name in names:
                yield name, calls


DTYPES = (torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64)


def opinfo_calls(info: Any, dtypes: Sequence[torch.dtype] = DTYPES) -> list[recipes.Call]:
    dtype = next((d for d in dtypes if d in info.dtypes), None)
    if dtype is None:
        return []
    torch.manual_seed(0)
    calls = [((s.input, *s.args), dict(s.kwargs)) for s in info.sample_inputs("cpu", dtype, requires_grad=False)]
    # Pooling has some 1500, all alike; every n-th would miss what alternates.
    return calls if len(calls) <= MOST_CALLS else random.Random(0).sample(calls, MOST_CALLS)


MOST_CALLS = 120


def opinfo_names(info: Any) -> Iterator[str]:
    name = info.name
    if "." in name:
        yield f"torch.{name}"
    else:
        yield f"torch.{name}"
        yield f"torch.nn.functional.{name}"
        yield f"Tensor.{name}"
        yield f"Tensor.{name}_"
    if name.startswith(("special.", "linalg.")):
        yield f"Tensor.{name.partition('.')[2]}"


# --------------------------------------------------------------------------------------------------------------------
# The table


def public(module: Any) -> list[str]:
    return [n for n in dir(module) if not n.startswith("_") and callable(getattr(module, n)) and not inspect.isclass(getattr(module, n))]


def python_table() -> dict[str, list[Overload]]:
    """Functions written in Python, and those bound by hand."""
    table: dict[str, list[Overload]] = {}
    for path, module in MODULES.items():
        for short in public(module):
            if inspect.isfunction(getattr(module, short)):
                name = f"{path}.{short}"
                table[name] = python_overloads(name, python_params(dispatched(getattr(module, short))))
    for name, signatures in recipes.SIGNATURES.items():
        table[name] = [o for text in signatures.split("|") for o in python_overloads(name, parse_op(f"x|{text}").params)]
    return table


def python_overloads(name: str, params: tuple[Param, ...]) -> list[Overload]:
    short = name.rpartition(".")[2]
    variants = [tuple(p for p in params if p.name not in recipes.OPTIONS.get(name, ()))]
    for option in recipes.OPTIONS.get(name, ()):
        variants.append(tuple(replace(p, optional=False) if p.name == option else p for p in params))
    return [Overload(Op(DUNDERS.get(short, short), variant), False) for variant in variants]


DUNDERS = {
    f"__{prefix}{name}__": name
    for name in ("add", "sub", "mul", "div", "pow", "matmul", "and", "or", "xor")
    for prefix in ("", "r", "i")
} | {
    f"__{prefix}{python}__": name
    for python, name in {"truediv": "div", "floordiv": "floor_divide", "mod": "remainder"}.items()
    for prefix in ("", "r", "i")
} | {
    f"__{op}__": op for op in ("eq", "ne", "lt", "le", "gt", "ge", "lshift", "rshift")
} | {"__neg__": "neg", "__pos__": "positive", "__abs__": "abs", "__invert__": "bitwise_not", "__getitem__": "index", "__setitem__": "index_put_"}


def dispatched(function: Callable[..., Any]) -> Callable[..., Any]:
    """F.max_pool2d and its kind choose between two functions by an option; both take the same arguments."""
    closure = inspect.getclosurevars(function).nonlocals if inspect.isfunction(function) else {}
    return closure.get("if_false", function)  # type: ignore[no-any-return]


def callable_for(name: str) -> Callable[..., Any]:
    obj = resolve(name)
    if callable(obj):
        return obj  # type: ignore[no-any-return]
    attribute = name.removeprefix("Tensor.")
    return lambda self: getattr(self, attribute)


def build(progress: bool = False) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    table = {n: o for n, o in {**python_table(), **schema_table()}.items() if not re.match(recipes.SKIP, n) and n not in recipes.ROWS}
    inplace: dict[str, list[Overload]] = {}
    for name, overloads in table.items():
        if name.startswith("torch.nn.functional.") and any(p.name == "inplace" for p in overloads[0].op.params):
            inplace[f"{name}(inplace)"] = [Overload(o.op, False) for o in overloads]
            for o in overloads:
                o.op = replace(o.op, inplace=f"{name}(inplace)")
    measured: set[tuple[int, ...]] = set()
    for name, calls in samples(table):
        key = tuple(id(o) for o in table[name])
        if key in measured and name not in recipes.RECIPES:
            continue  # torch.sin and Tensor.sin are the same rows
        for args, kwargs in calls:
            kwargs = {k: v for k, v in kwargs.items() if k not in recipes.OPTIONS.get(name, ()) or v is not None and v is not False}
            measure(table[name], callable_for(name), args, kwargs)
            if f"{name}(inplace)" in inplace:
                kwargs["inplace"] = True
                measure(inplace[f"{name}(inplace)"], callable_for(name), args, kwargs)
    table |= inplace
    for name, overloads in table.items():
        for o in overloads:
            for args, kwargs in improvised_calls(o.op) if not o.runs else ():
                if measure([o], callable_for(name), args, kwargs):
                    break
    final: dict[str, list[Op]] = {}
    rows: dict[str, int] = {}
    names: dict[str, list[int]] = {}
    unmeasured = []
    for name in sorted({*table, *recipes.ROWS}):
        if name in recipes.ROWS:
            ops = [parse_op(row) for row in recipes.ROWS[name]]
        else:
            ops = [finish(o, table[name]) for o in table[name]]
            unmeasured += [f"{name}: {format_op(o.op)}" for o in table[name] if not o.exact and not o.runs and any(p.kind != "other" for p in o.op.params)]
        final[name] = ops
        shapes: list[list[Param]] = []
        for op in ops:
            shape = [replace(p, varargs=False) for p in op.params]
            if shape in shapes:
                continue  # the arguments cannot tell it from an earlier overload
            shapes.append(shape)
            names.setdefault(name, []).append(rows.setdefault(format_op(op), len(rows)))
    if progress:
        print(f"{len(unmeasured)} neither in a formula nor executed:", *unmeasured, sep="\n", file=sys.stderr)
    return {
        "format": FORMAT,
        "torch": torch.__version__.partition("+")[0],
        "devices": ["cpu"],
        "rows": list(rows),
        "names": names,
        "modules": module_facts(),
        **method_words(final),
    }


# What to pass for a required option of which nothing is known, by name.
GUESSES: dict[str, Any] = {"dim": 0, "dim0": 0, "dim1": 1, "other": 2, "exponent": 2, "n": 1, "index": 0, "size": (3, 3)}


def improvised_calls(op: Op) -> Iterator[recipes.Call]:
    """For an op without samples: small tensors of floats, then of integers, then of booleans."""
    if all(p.kind == "other" for p in op.params):
        return
    for make in (recipes.f, recipes.i, recipes.b):
        values = {
            "tensor": lambda make=make: make(3, 3),
            "tensors": lambda make=make: [make(3, 3), make(3, 3)],
        }
        needed = [p for p in op.params if p.kind != "other" or not p.optional]
        given = {p.name: values[p.kind]() if p.kind in values else GUESSES.get(p.name, 2) for p in needed}
        torch.manual_seed(0)
        positional = [given.pop(p.name) for p in needed if not p.kwonly]
        yield tuple(positional), given


def finish(o: Overload, siblings: Sequence[Overload] = ()) -> Op:
    """Lay what was measured over what the schema says."""
    op = o.op
    if not o.exact and o.runs:
        written = {n for r in o.runs for n in r.written}
        writes = op.writes or tuple(p.name for p in op.params if p.name in written)
        op = replace(op, saves=measured_saves(op, o.runs), writes=writes)
    if op.name in recipes.UNSURE or op.name.startswith("_foreach_"):
        op = replace(op, saves=tuple(replace(save, sure=False) for save in op.saves))
    outs = finish_outs(op, o, siblings)
    if outs and not op.writes and not any(out.differentiable for out in outs):
        op = replace(op, saves=())  # what was saved on the way goes with the graph, which nothing holds
    return replace(op, outs=outs)


def finish_outs(op: Op, o: Overload, siblings: Sequence[Overload]) -> tuple[Out, ...]:
    kind = recipes.KINDS.get(op.name)
    outs = [replace(out, kind=kind, of=op.params[0].name if kind != "fresh" else None) if kind else out for out in op.outs]
    if all(p.kind == "other" for p in op.params):
        return tuple(replace(out, differentiable=False) for out in outs)
    if o.exact and all(r.requires is None for r in o.runs):
        return tuple(outs)  # executed on integers, if at all: says nothing about floats
    seen = [measured_outs(s.op, s.runs) for s in siblings if s.runs] if not o.runs else [measured_outs(op, o.runs)]
    if not seen or any(len(s) != len(outs) for s in seen) and outs:
        return tuple(outs)
    if not outs:
        return seen[0] if o.runs else ()
    merged = []
    for i, schema in enumerate(outs):
        # A sample may copy where the schema says that the op may return a view.
        out = schema if kind or not o.runs or schema.kind != "fresh" and seen[0][i].kind == "fresh" else seen[0][i]
        grad = schema.differentiable and any(s[i].differentiable for s in seen)
        merged.append(replace(out, differentiable=grad, many=schema.many, integral=all(s[i].integral for s in seen)))
    return tuple(merged)


# --------------------------------------------------------------------------------------------------------------------
# Modules and method names


def module_facts() -> dict[str, dict[str, Any]]:
    facts = {}
    for name, recipe in recipes.MODULES.items():
        cls = getattr(torch.nn, name)
        torch.manual_seed(0)
        module = cls(*recipe.args, **recipe.kwargs)
        entry = constructor(name)
        entry["parameters"] = " ".join(n for n, _ in module.named_parameters())
        entry["buffers"] = " ".join(n for n, _ in module.named_buffers())
        entry["op"] = format_op(module_op(name, module, recipe))
        if name in recipes.INPLACE_MODULES:
            entry["inplace"] = format_op(module_op(name, cls(*recipe.args, **recipe.kwargs, inplace=True), recipe))
        facts[f"torch.nn.{name}"] = entry
    for name, model in recipes.LIKE.items():
        facts[f"torch.nn.{name}"] = {**facts[f"torch.nn.{model}"], **constructor(name)}
    return facts


def constructor(name: str) -> dict[str, Any]:
    init = recipes.INIT.get(name) or {
        p.name: ... if p.default is p.empty else p.default
        for p in list(inspect.signature(getattr(torch.nn, name).__init__).parameters.values())[1:]
    }
    constants = {k: v for k, v in init.items() if v is None or isinstance(v, (bool, int, float, str))}
    return {"init": " ".join(init), "defaults": constants}


def module_op(name: str, module: torch.nn.Module, recipe: recipes.Module) -> Op:
    """Run a module as a function of its inputs and of the tensors it holds."""
    forward = parse_op(f"x|{recipe.forward}").params if recipe.forward else python_params(type(module).forward)[1:]
    held = module_tensors(module)
    overload = Overload(Op(name, (*forward, *(Param(n, "tensor", kwonly=True) for n in held))), False)
    torch.manual_seed(0)
    for args, kwargs in recipe.calls():
        measure([overload], module_function(module), args, {**kwargs, **held})
    return finish(overload)


def module_tensors(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {f"self.{n}": t.detach() for n, t in (*module.named_parameters(), *module.named_buffers())}


def module_function(module: torch.nn.Module) -> Callable[..., Any]:
    """The module as a function that takes the tensors it holds as keywords, like "self.weight"."""

    def run(*args: Any, **kwargs: Any) -> Any:
        state = {k.removeprefix("self."): kwargs.pop(k) for k in list(kwargs) if k.startswith("self.")}
        return torch.func.functional_call(module, state, args, kwargs)

    return run


def method_words(table: dict[str, list[Op]]) -> dict[str, str]:
    """Names of Tensor methods by what they tell the analysis."""
    methods = {n for n in dir(torch.Tensor) if not n.startswith("_")}
    others: set[str] = set(recipes.NOT_PROOF)
    for kind in OTHER_TYPES:
        others.update(dir(kind))
    known = {n: table[f"Tensor.{n}"] for n in methods if f"Tensor.{n}" in table}
    underscore = {n for n in methods if n.endswith("_")}
    writers = {n for n, ops in known.items() if any("self" in op.writes for op in ops)}
    return {
        "tensor_methods": " ".join(sorted(methods)),
        "tensor_only_methods": " ".join(sorted(methods - others | {"detach"})),
        "scalar_methods": " ".join(sorted(n for n in methods if n in recipes.SCALARS or n in known and not any(op.outs for op in known[n]))),
        "inplace_methods": " ".join(sorted(writers)),
        "no_bump_methods": " ".join(sorted(underscore & set(known) - writers)),
    }


OTHER_TYPES: tuple[Any, ...] = (
    torch.nn.Module,
    torch.distributions.Distribution,
    torch.optim.Optimizer,
    torch.nn.utils.rnn.PackedSequence,
    type(torch.zeros(1).numpy()),
    *(list, dict, set, tuple, str, bytes, bytearray, int, float, complex, memoryview, slice, range),
    *(collections.deque, collections.Counter, collections.OrderedDict, decimal.Decimal, fractions.Fraction),
    *(datetime.datetime, datetime.timedelta, pathlib.Path, re.Pattern, re.Match, io.TextIOWrapper, io.BytesIO),
    *(logging.Logger, argparse.Namespace, argparse.ArgumentParser, threading.Thread, threading.Lock, queue.Queue, random.Random),
)


def render(data: dict[str, Any]) -> str:
    """One row or name a line, so that a diff shows what changed."""
    parts = []
    for key, value in data.items():
        if isinstance(value, list) and len(value) > 8:
            inner = ",\n".join(json.dumps(v) for v in value)
            parts.append(f'{json.dumps(key)}: [\n{inner}\n]')
        elif isinstance(value, dict):
            inner = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in sorted(value.items()))
            parts.append(f"{json.dumps(key)}: {{\n{inner}\n}}")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare with the committed table; exit 1 if it differs")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args(argv)
    text = render(build(options.verbose))
    if not options.check:
        TABLE.write_text(text, encoding="utf-8")
        return 0
    current = TABLE.read_text(encoding="utf-8")
    for old, new in zip(current.splitlines(), text.splitlines()):
        if old != new:
            print(f"- {old}\n+ {new}")
    return int(current != text)


if __name__ == "__main__":
    sys.exit(main())
