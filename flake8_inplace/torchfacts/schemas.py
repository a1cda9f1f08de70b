"""What PyTorch's own tables say of an op: names, signatures, in-place writes, aliases, and formulas. Development only.

Schemas come from native_functions.yaml, formulas from derivatives.yaml, both read by PyTorch's own parsers; functions
written in Python have annotations; what is bound by hand in C++ has a signature in `handwritten`.
"""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch.masked
import torchgen
from torchgen.api.autograd import DifferentiabilityInfo
from torchgen.api.autograd import NativeFunctionWithDifferentiabilityInfo as Native
from torchgen.api.autograd import match_differentiability_info as with_formulas
from torchgen.gen import parse_native_yaml
from torchgen.model import Argument, NativeFunction, SchemaKind, Variant
from torchgen.packaged.autograd.gen_python_functions import should_generate_py_binding
from torchgen.packaged.autograd.gen_variable_type import DONT_REQUIRE_DERIVATIVE
from torchgen.packaged.autograd.load_derivatives import load_derivatives

from . import handwritten
from .execution import Overload, slot_of
from .notation import Op, Out, Param, Save, parse_op

MODULES = {
    "torch": torch,
    "torch.nn.functional": torch.nn.functional,
    "torch.linalg": torch.linalg,
    "torch.fft": torch.fft,
    "torch.special": torch.special,
    "torch.nn.init": torch.nn.init,
    "torch.masked": torch.masked,
    "torch.ops.aten": torch.ops.aten,
}


# -- names


def resolve(name: str) -> Any:
    """The Python object behind a name of the table, or None."""
    if name.startswith("Tensor."):
        return getattr(torch.Tensor, name.removeprefix("Tensor."), None)
    path, _, last = name.rpartition(".")
    return getattr(MODULES.get(path), last, None)


def callable_for(name: str) -> Callable[..., Any]:
    """The function, method or property of this name, as something to call."""
    obj = resolve(name)
    if callable(obj):
        return obj  # type: ignore[no-any-return]
    return lambda self: getattr(self, name.removeprefix("Tensor."))


# The ops behind operators: __add__, __radd__ and __iadd__ are all shown as "add".
OPERATORS = {"truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "abs": "abs", "pos": "positive"}
OPERATORS |= {"invert": "bitwise_not", "getitem": "index", "setitem": "index_put_"}
OPERATORS |= {op: op for op in "add sub mul div pow matmul and or xor lshift rshift eq ne lt le gt ge neg".split()}
DUNDERS = {f"__{prefix}{name}__": op for name, op in OPERATORS.items() for prefix in ("", "r", "i")}
PROPERTIES = {"numpy_T": "T", "matrix_H": "H"}


def short_name(base: str) -> str:
    """What messages call an op."""
    base = PROPERTIES.get(base, DUNDERS.get(base, base))
    return re.sub(r"^(linalg|fft)_", r"\1.", base.removeprefix("special_"))


# -- schemas

# Skipped by the generator of Python bindings, though methods or operators take these arguments.
BOUND_BY_HAND = set("mul add sub div mul_ add_ sub_ div_ contiguous copy_ nonzero index numpy_T matrix_H mT mH".split())
# Python takes a number as the first operand of these: torch.mul(2, x).
NUMBER_FIRST = {"add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide"}


def schema_table() -> dict[str, list[Overload]]:
    """Every name that the generated bindings provide, with its overloads: those that take more tensors first."""
    table: dict[str, list[Overload]] = defaultdict(list)
    for native in native_functions():
        overload = schema_overload(native)
        for name in schema_names(native.func):
            if name.startswith("torch.ops.aten._") and not overload.exact:
                continue  # a part of another operator, of which no table says anything
            if name.startswith("Tensor."):
                table[name].append(self_first(overload))
                continue
            table[name].append(overload)
            if str(native.func.func.name.name) in NUMBER_FIRST and overload.op.params[1].kind == "tensor":
                table[name].append(number_first(overload))
    for overloads in table.values():
        overloads.sort(key=lambda o: [p.kind == "other" for p in o.op.params])
    return table


def native_functions() -> Iterator[Native]:
    """The ATen functions that Python reaches, with their formulas."""
    packaged = Path(torchgen.__file__).parent / "packaged"
    native = str(packaged / "ATen/native/native_functions.yaml")
    tags = str(packaged / "ATen/native/tags.yaml")
    formulas, _ = load_derivatives(str(packaged / "autograd/derivatives.yaml"), native, tags)
    for entry in with_formulas(list(parse_native_yaml(native, tags).native_functions), formulas):
        f = entry.func
        text = str(f.func)
        bound = should_generate_py_binding(f) or str(f.func.name.name) in BOUND_BY_HAND
        generated = "generated" in f.tags and "view_copy" not in f.tags
        # Named dimensions are deprecated, out_dtype is for CUDA.
        if bound and not generated and f.func.kind() != SchemaKind.out and not re.search("Dimname|out_dtype", text):
            yield entry


def schema_names(f: NativeFunction) -> Iterator[str]:
    """The Python names a schema is reached by; the dispatcher's where it has no public one."""
    found = list(public_names(f))
    yield from found or [f"torch.ops.aten.{f.func.name.name}"]


def public_names(f: NativeFunction) -> Iterator[str]:
    base = str(f.func.name.name)
    if Variant.method in f.variants and is_public(base) and is_binding(f"Tensor.{PROPERTIES.get(base, base)}"):
        yield f"Tensor.{PROPERTIES.get(base, base)}"
    if Variant.function in f.variants:
        last = base.removeprefix(f"{f.python_module}_")
        paths = {None: ["torch", "torch.nn.functional"], "nn": ["torch.nn.functional"]}
        for path in paths.get(f.python_module, [f"torch.{f.python_module}"]):
            name = f"{path}.{last}"
            if is_public(last) and is_binding(name) and resolve(name).__name__ == base:
                yield name


def is_public(last: str) -> bool:
    return not last.startswith("_") or last.startswith(("__", "_foreach_"))


def is_binding(name: str) -> bool:
    """Is there such a thing, and not a Python function around it?"""
    return resolve(name) is not None and not inspect.isfunction(resolve(name))


def schema_overload(native: Native) -> Overload:
    f = native.func
    saves = formula_saves(native)
    writes = tuple(a.name for a in f.func.arguments.flat_all if a.annotation is not None and a.annotation.is_write)
    op = Op(short_name(str(f.func.name.name)), schema_params(f), saves or (), writes, schema_outs(native))
    lists = str(f.func.name.name).startswith("_foreach_")  # their formulas are those of the elements: run them
    return Overload(op, saves is not None and not lists)


def self_first(overload: Overload) -> Overload:
    """where(condition, self, other) is x.where(condition, other) as a method."""
    params = overload.op.params
    if params[0].name == "self":
        return overload
    ordered = sorted(params, key=lambda p: p.name != "self")
    return replace(overload, op=replace(overload.op, params=tuple(ordered)))


def number_first(overload: Overload) -> Overload:
    op = overload.op
    saves = [replace(s, needs=tuple(n for n in s.needs if n != "self")) for s in op.saves if s.slot != "self"]
    params = (replace(op.params[0], kind="other"), *op.params[1:])
    return Overload(replace(op, params=params, saves=tuple(s for s in saves if s.needs)), overload.exact)


def kind_of(type_: object) -> str:
    text = str(type_)
    if re.match(r"Tensor\??\[", text):
        return "tensors"
    return "tensor" if text in ("Tensor", "Tensor?") else "other"


def schema_params(f: NativeFunction) -> tuple[Param, ...]:
    arguments = f.func.arguments
    own = [a for a in arguments.flat_positional if a.name != "self"]

    def positional(a: Argument) -> Param:
        # The argument parser takes x.view(2, 3) for x.view((2, 3)) where a list of ints is the only argument.
        varargs = own == [a] and re.match(r"(Sym)?[iI]nt\[", str(a.type)) is not None
        return Param(a.name, kind_of(a.type), a.default is not None, varargs)

    def keyword(a: Argument) -> Param:
        return Param(a.name, kind_of(a.type), a.default is not None or str(a.type).endswith("?"), kwonly=True)

    params = [positional(a) for a in arguments.flat_positional] + [keyword(a) for a in arguments.flat_kwarg_only]
    if arguments.tensor_options is not None:
        params.append(Param("requires_grad", "other", True, kwonly=True))
    return tuple(params)


def schema_outs(native: Native) -> tuple[Out, ...]:
    f = native.func
    info = formula(native)
    annotated = [a for a in f.func.arguments.flat_all if a.annotation is not None]
    aliased = {letter: a.name for a in annotated for letter in a.annotation.alias_set}
    never = str(f.func.name.name) in DONT_REQUIRE_DERIVATIVE or f.func.name.name.base in DONT_REQUIRE_DERIVATIVE
    outs = []
    for i, r in enumerate(f.func.returns):
        tensor = kind_of(r.type) != "other"
        differentiable = tensor and not never
        if info is not None and info.output_differentiability is not None:
            differentiable = differentiable and bool(info.output_differentiability[i])
        of = next((aliased[letter] for letter in r.annotation.alias_set), None) if r.annotation is not None else None
        if of is None:
            outs.append(Out("fresh", None, differentiable, kind_of(r.type) == "tensors"))
        else:
            # In place, even a comparison leaves a tensor that required grad requiring it.
            inplace = r.annotation.is_write
            outs.append(Out("same" if inplace else "view", of, differentiable or inplace, kind_of(r.type) == "tensors"))
    return tuple(outs) if any(kind_of(r.type) != "other" for r in f.func.returns) else ()


def formula(native: Native) -> DifferentiabilityInfo | None:
    """The entry of derivatives.yaml that runs on dense tensors."""
    return native.info.get("Default") if native.info else None


def formula_saves(native: Native) -> tuple[Save, ...] | None:
    """What the formula saves, and when; None if this op is not run by a formula."""
    f = native.func
    info = formula(native)
    # A composite with a formula (matmul, linear) has it for nested tensors only.
    if info is None or not info.has_derivatives or f.has_composite_implicit_autograd_kernel:
        return None
    inplace = f.func.kind() == SchemaKind.inplace
    kinds = {a.name: kind_of(a.type) for a in f.func.arguments.flat_all}
    differentiable = [name for name in kinds if any(name in d.var_names for d in info.derivatives)]
    needs: dict[str, set[str]] = defaultdict(set)
    for saved in info.all_saved_inputs:
        name = str(saved.nctype.name)
        # Not a size, a dtype or a number; and in place, autograd keeps a clone of what is overwritten.
        if saved.expr == name and kinds.get(name, "other") != "other" and not (inplace and name == "self"):
            needs[name].update(guards(name, info, differentiable, kinds))
    returns = [r.name or slot_of(i) for i, r in enumerate(f.func.returns)]
    for saved in info.all_saved_outputs:
        name = str(saved.nctype.name).replace("result0", "result")
        if saved.expr == str(saved.nctype.name):
            needs[slot_of(0 if inplace or name == "result" else returns.index(name))].update(differentiable)
    order = list(kinds)
    return tuple(Save(slot, tuple(sorted(names, key=order.index))) for slot, names in sorted(needs.items()) if names)


def guards(name: str, info: DifferentiabilityInfo, differentiable: list[str], kinds: dict[str, str]) -> list[str]:
    """The inputs of which one must require grad for `name` to be saved: the rule of guard_for in gen_variable_type."""
    users = [d for d in info.derivatives if any(str(s.nctype.name) == name for s in d.saved_inputs)]
    types = {str(s.nctype.type.cpp_type()) for d in users for s in d.saved_inputs if str(s.nctype.name) == name}
    several = any(kinds[n] == "tensors" for n in differentiable)
    if several or "backward" in info.name or len(users) != 1 or types != {"at::Tensor"}:
        return differentiable
    if len(users[0].var_names) == 1:
        return list(users[0].var_names)
    wrapped = re.search(rf"wrap_opt_if\({name},(.*?)\)", users[0].formula)
    if wrapped is None:
        return differentiable
    return [differentiable[int(i)] for i in re.findall(r"grad_input_mask\[(\d+)\]", wrapped.group(1))]


# -- signatures


def python_table() -> dict[str, list[Overload]]:
    """Functions written in Python, and those bound by hand."""
    table = {}
    for path, module in MODULES.items():
        for short, function in inspect.getmembers(module, inspect.isfunction) if path != "torch.ops.aten" else ():
            if not short.startswith("_"):
                table[f"{path}.{short}"] = [Overload(Op(short, python_params(dispatched(function))), False)]
    for name, signatures in handwritten.SIGNATURES.items():
        short = short_name(name.rpartition(".")[2])
        table[name] = [Overload(parse_op(f"{short}|{params}"), False) for params in signatures.split("|")]
    return table


def dispatched(function: Callable[..., Any]) -> Callable[..., Any]:
    """F.max_pool2d and its kind choose between two functions by an option; both take the same arguments."""
    return inspect.getclosurevars(function).nonlocals.get("if_false", function)  # type: ignore[no-any-return]


def python_params(function: Callable[..., Any]) -> tuple[Param, ...]:
    params = []
    for p in inspect.signature(function).parameters.values():
        text = p.annotation if isinstance(p.annotation, str) else inspect.formatannotation(p.annotation)
        kind = "tensor" if "Tensor" in text and "Callable" not in text else "other"
        varargs = p.kind is p.VAR_POSITIONAL
        if kind == "tensor" and (varargs or re.search(r"(list|List|tuple|Tuple|Sequence)\[", text)):
            kind = "tensors"
        if p.kind is not p.VAR_KEYWORD:
            params.append(Param(p.name, kind, p.default is not p.empty, varargs, p.kind is p.KEYWORD_ONLY))
    return tuple(params)


def split_options(name: str, overload: Overload) -> Iterator[Overload]:
    """One overload for calls that leave an option of `handwritten.OPTIONS` alone, and one for those that pass it."""
    params = overload.op.params
    place = next((i for i, p in enumerate(params) if p.name == handwritten.OPTIONS.get(name)), None)
    if place is None:
        yield overload
        return
    after = tuple(replace(p, kwonly=True) for p in params[place + 1 :])
    given = replace(params[place], optional=False)
    for chosen in ((*params[:place], *after), (*params[:place], given, *params[place + 1 :])):
        yield Overload(replace(overload.op, params=chosen), overload.exact)
