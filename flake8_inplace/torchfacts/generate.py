"""Write `ops.json` and `refusals.json`: `python -m flake8_inplace.torchfacts.generate [--check]`.

Development only; needs the pinned torch.

Where a fact comes from:

- An op with a formula in PyTorch's own derivatives.yaml is read from there (`schemas`): the formula names what is
  saved, and the rule of `guard_for` in gen_variable_type.py says when. In-place variants inherit the formula; what they
  need of their own input they clone, so only their result and their other operands count.
- Everything else (composites such as dropout or layer_norm, functions written in Python, nn modules) is executed
  (`execution`) with the samples of `op_db`, once for each input that may require grad, with hooks that note what is
  saved. Names without samples have a recipe (`recipes`), or are tried on small tensors.
- In-place writes and aliases come from the schemas where there is one; what an executed output aliases, and whether it
  requires grad, is measured. A slot counts as saved for sure if most samples save it, since some ask for odd options.

Only the CPU is measured here; `runtime.conformance` runs the same calls on another device and tells where it differs.
Composites that choose another kernel on CUDA may save more there: cuDNN's recurrent layers keep their output, attention
with dropout keeps query, key, value and output.
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import json
import random
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

from . import handwritten, layer_recipes, recipes, refusals, refused
from .execution import Overload, bind, measure, measured_outs, measured_saves, moved, run_each, vary
from .learning import Trial, learn, simple
from .ops import FORMAT, TABLE, Op, Out, Param, format_condition, format_op, parse_condition, parse_op, parse_save
from .ops import table as facts_table
from .schemas import callable_for, python_params, python_table, schema_table, split_options
from .variations import candidates
from .words import method_words


def build(verbose: bool = False) -> dict[Path, dict[str, Any]]:
    """The tables, by the files that they stand in."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)  # the tensors are tiny
    overloads = overload_table()
    observations = refused.Observations()
    for sample in calls(overloads):
        measure(*sample)
        observations.observe(*sample)
    for sample in refused.extra_calls():
        observations.observe(*sample)
    for name in layer_recipes.INPLACE_MODULES:
        observations.observe_layer(name, getattr(torch.nn, name), list(constructor(name)["defaults"]))
    if verbose:
        report(overloads)
    table = {name: [parse_op(row) for row in rows] for name, rows in handwritten.ROWS.items()}
    table |= {name: [finish(o, group) for o in group] for name, group in overloads.items()}
    rows: dict[str, int] = {}
    names = {
        name: [rows.setdefault(format_op(op), len(rows)) for op in distinct(ops)] for name, ops in sorted(table.items())
    }
    release = {"format": FORMAT, "torch": torch.__version__.partition("+")[0], "devices": ["cpu"]}
    older = facts_table()["older"]  # measured with other releases, by `versions`
    facts = {"rows": list(rows), "names": names, "older": older, "modules": module_facts(), **method_words(table)}
    return {TABLE: release | facts, refusals.TABLE: release | observations.words()}


def overload_table() -> dict[str, list[Overload]]:
    table = {
        name: [part for o in overloads for part in split_options(name, o)]
        for name, overloads in {**python_table(), **schema_table()}.items()
        if not re.match(handwritten.SKIP, name) and name not in handwritten.ROWS
    }
    for name, overloads in list(table.items()):
        if name.startswith("torch.nn.functional.") and any(p.name == "inplace" for p in overloads[0].op.params):
            table[f"{name}(inplace)"] = [Overload(o.op, False) for o in overloads]
            for o in overloads:
                o.op = replace(o.op, inplace=f"{name}(inplace)")
    return table


def distinct(ops: Sequence[Op]) -> Iterator[Op]:
    """Leave out what the arguments cannot tell from an earlier overload: padding as a string, dim as a list."""
    seen: list[list[Param]] = []
    for op in ops:
        shape = [replace(p, varargs=False) for p in op.params]
        if shape not in seen:
            seen.append(shape)
            yield op


def report(overloads: dict[str, list[Overload]]) -> None:
    print("neither in a formula nor executed:", file=sys.stderr)
    for name, group in overloads.items():
        for o in group:
            if not o.exact and not o.runs and any(p.kind != "other" for p in o.op.params):
                print(f"  {name}: {format_op(o.op)}", file=sys.stderr)


# -- samples


Sample = tuple[list[Overload], Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def calls(table: dict[str, list[Overload]]) -> Iterator[Sample]:
    """What `measure` takes, call by call. Measure each before the next is asked for: the last ones are for overloads
    that no sample has run."""
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
    for name, recipe in recipes.RECIPES.items():
        if name in table:
            torch.manual_seed(0)
            yield [name], recipe()
    for info in op_db:
        names = [name for name in opinfo_names(info) if name in table and name not in recipes.RECIPES]
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


# -- rows


def finish(o: Overload, siblings: Sequence[Overload] = ()) -> Op:
    """Lay what was measured over what the schema says."""
    op = o.op
    if not o.exact and o.runs:
        written = {name for r in o.runs if r.changed is None for name in r.written}
        writes = op.writes or tuple(p.name for p in op.params if p.name in written)
        op = replace(op, saves=measured_saves(op, o.runs), writes=writes)
    if any(p.name == handwritten.UNSURE.get(op.name) and not p.optional for p in op.params):
        op = replace(op, saves=tuple(dict.fromkeys(replace(save, sure=False, when=()) for save in op.saves)))
    if op.name in handwritten.ON_DEVICE:
        op = replace(op, saves=(*op.saves, *map(parse_save, handwritten.ON_DEVICE[op.name].split())))
    if op.name in handwritten.IDENTITY:
        op = replace(op, identity=tuple(map(parse_condition, handwritten.IDENTITY[op.name].split())))
    op = replace(op, saves=tuple(save for save in op.saves if save.slot not in op.writes))
    op = replace(op, outs=tuple(finish_outs(o, siblings)))
    if op.outs and not op.writes and not any(out.differentiable for out in op.outs):
        op = replace(op, saves=())  # what was saved on the way goes with the graph, which nothing holds
    return op


def finish_outs(o: Overload, siblings: Sequence[Overload]) -> Iterator[Out]:
    op = o.op
    runs = [r for r in o.runs if r.changed is None]
    runs = [r for r in runs if r.requires is not None or not o.exact]  # integers say nothing about floats
    seen = measured_outs(op, runs) if runs else None
    outs = op.outs or seen or ()
    for i, out in enumerate(outs):
        if all(p.kind == "other" for p in op.params):
            yield replace(out, differentiable=False)  # zeros, arange, randn
            continue
        found = seen[i] if seen is not None and len(seen) == len(outs) else None
        known = [found] if found is not None else [s for s in sibling_outs(o, siblings, i) if s is not None]
        out = with_kind(op, out, found)
        if known:
            grad = out.differentiable and any(k.differentiable for k in known)
            out = replace(out, differentiable=grad, integral=not grad and all(k.integral for k in known))
        yield out


def with_kind(op: Op, out: Out, found: Out | None) -> Out:
    """Return an output with what it aliases: as measured, where that says more than the schema, or as in the recipes.

    A sample may copy where the schema says that the op may return a view.
    """
    if found is not None and (out.kind == "fresh" or found.kind != "fresh"):
        out = replace(out, kind=found.kind, of=found.of)
    if op.name in handwritten.KINDS:
        kind, first = handwritten.KINDS[op.name], op.params[0].name if op.params else None
        out = replace(out, kind=kind, of=None if kind == "fresh" else first)
    return out


def sibling_outs(o: Overload, siblings: Sequence[Overload], index: int) -> Iterator[Out | None]:
    """This output of the overloads that were executed, for one that was not."""
    for sibling in siblings if not o.exact else ():
        outs = measured_outs(sibling.op, sibling.runs) if sibling.runs else ()
        yield outs[index] if len(outs) == len(o.op.outs) else None


# -- modules


def module_facts() -> dict[str, dict[str, Any]]:
    facts = {}
    for name in layer_recipes.MODULES:
        entry = constructor(name)
        variants = module_variants(name)
        entry["parameters"] = " ".join(parameter_words(variants))
        entry["buffers"] = " ".join(n for n, _ in variants[0].module.named_buffers())
        entry |= {form: format_op(finish(overload)) for form, overload in module_overloads(name).items()}
        facts[f"torch.nn.{name}"] = entry
    for name, model in layer_recipes.LIKE.items():
        facts[f"torch.nn.{name}"] = {**facts[f"torch.nn.{model}"], **constructor(name)}
    return facts


def constructor(name: str) -> dict[str, Any]:
    init = constructor_defaults(name)
    constants = {k: v for k, v in init.items() if is_constant(v)}
    return {"init": " ".join(init), "defaults": constants}


def constructor_defaults(name: str) -> dict[str, Any]:
    parameters = list(inspect.signature(getattr(torch.nn, name).__init__).parameters.values())[1:]
    return layer_recipes.INIT.get(name) or {p.name: p.default for p in parameters}


def is_constant(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


@dataclass(frozen=True)
class Variant:
    """A module, how it was built, and what was changed from the first way to build it."""

    module: torch.nn.Module
    settings: dict[str, Any]
    changed: str | None = None
    flag: bool = False  # what was changed is on or off


MOST_PARAMETERS = 12  # of modules that are built in several ways; larger ones are made of these


def module_variants(name: str, **options: Any) -> list[Variant]:
    """A module as its recipe builds it, and with each argument of its constructor changed."""
    recipe = layer_recipes.MODULES[name]
    defaults = constructor_defaults(name)
    given = {**dict(zip(defaults, recipe.args, strict=False)), **recipe.kwargs, **options}
    first = built(name, given)
    variants = [Variant(first, settings(defaults, given))]
    evaluated = built(name, given).eval()
    variants.append(Variant(evaluated, {**settings(defaults, given), "training": False}, "training"))
    if len(list(first.parameters())) > MOST_PARAMETERS:
        return variants
    for option in defaults:
        was = given.get(option, defaults[option])
        for value in candidates(Param(option, "other", True), was, type(first)) if is_constant(was) else ():
            try:
                module = built(name, {**given, option: value})
            except Exception:  # of any kind: the constructor does not take this value
                continue
            changed = settings(defaults, {**given, option: value})
            variants.append(Variant(module, changed, f"init.{option}", isinstance(was, bool)))
    return variants


def settings(defaults: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """How a module was built, as conditions speak of it."""
    chosen = {k: v for k, v in defaults.items() if is_constant(v)} | given
    return {"training": True, **{f"init.{option}": simple(value) for option, value in chosen.items()}}


def built(name: str, given: dict[str, Any]) -> torch.nn.Module:
    torch.manual_seed(0)
    module: torch.nn.Module = getattr(torch.nn, name)(**given)
    return module


def parameter_words(variants: Sequence[Variant]) -> Iterator[str]:
    """The parameters of a module, each with the arguments of its constructor that it depends on."""
    chosen = [v for v in variants if v.changed is None or v.flag]
    names = dict.fromkeys(n for v in chosen for n, _ in v.module.named_parameters())
    for name in names:
        trials = [
            Trial(v.settings, name in dict(v.module.named_parameters()), 0, v.changed)
            for v in variants
            if v.changed is None or v.flag
        ]
        for rule in learn(trials, 1.0).rules:
            yield name + "~" * bool(rule) + "&".join(format_condition(c).removeprefix("init.") for c in rule)


def module_overloads(name: str, device: str = "cpu") -> dict[str, Overload]:
    """What a module does when it runs: as "op", and as "inplace" or with "indices" where it can be built so."""
    overloads = {"op": module_overload(name, device)}
    if name in layer_recipes.INPLACE_MODULES:
        overloads["inplace"] = module_overload(name, device, inplace=True)
    if "return_indices" in constructor_defaults(name):
        overloads["indices"] = module_overload(name, device, return_indices=True)
    return overloads


def module_overload(name: str, device: str, **options: Any) -> Overload:
    """Run a module, and its variants, as a function of its inputs and of the tensors it holds."""
    recipe = layer_recipes.MODULES[name]
    variants = module_variants(name, **options)
    module = variants[0].module
    forward = parse_op(f"x|{recipe.forward}").params if recipe.forward else python_params(type(module).forward)[1:]
    held = dict.fromkeys(n for v in variants if v.changed is None or v.flag for n in module_tensors(v.module))
    overload = Overload(Op(name, (*forward, *(Param(n, "tensor", True, kwonly=True) for n in held))), False)
    for variant in variants:
        run_variant(overload, variant, recipe.calls, device)
    required = tuple(replace(p, optional=p.optional and p.name not in held) for p in overload.op.params)
    overload.op = replace(overload.op, params=required)
    return overload


def run_variant(
    overload: Overload, variant: Variant, sample: Callable[[], Sequence[recipes.Call]], device: str
) -> None:
    tensors, function = moved(module_tensors(variant.module), device), module_function(variant.module)
    overload.settings = variant.settings
    torch.manual_seed(0)
    for number, (args, kwargs) in enumerate(sample()):
        args, kwargs = moved(args, device), {**moved(kwargs, device), **tensors}
        bound = bind(overload.op, args, kwargs)
        if bound is not None:
            overload.calls = number
            overload.runs += run_each(overload, function, args, kwargs, bound, variant.changed)
            if variant.changed is None:
                vary(overload, function, args, kwargs)


def module_tensors(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {f"self.{n}": t.detach() for n, t in (*module.named_parameters(), *module.named_buffers())}


def module_function(module: torch.nn.Module) -> Callable[..., Any]:
    """The module as a function that takes the tensors it holds as keywords, like "self.weight"."""

    def run(*args: Any, **kwargs: Any) -> Any:
        state = {k.removeprefix("self."): kwargs.pop(k) for k in list(kwargs) if k.startswith("self.")}
        return torch.func.functional_call(module, state, args, kwargs)

    return run


# -- the file


def render(data: dict[str, Any]) -> str:
    """One row or name a line, so that a diff shows what changed."""

    def entry(value: Any) -> str:
        if isinstance(value, dict):
            lines = (f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in sorted(value.items()))
            return "{\n" + ",\n".join(lines) + "\n}"
        if isinstance(value, list) and len(value) > 8:
            return "[\n" + ",\n".join(map(json.dumps, value)) + "\n]"
        return json.dumps(value)

    return "{\n" + ",\n".join(f"{json.dumps(key)}: {entry(value)}" for key, value in data.items()) + "\n}\n"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write the tables of facts.")
    parser.add_argument(
        "--check", action="store_true", help="compare with the table as it stands; exit 1 if it differs"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="name the ops of which nothing could be learnt")
    options = parser.parse_args(argv)
    differs = 0
    for path, data in build(options.verbose).items():
        text = render(data)
        if not options.check:
            path.write_text(text, encoding="utf-8")
            continue
        current = path.read_text(encoding="utf-8")
        differs |= current != text
        lines = (current.splitlines(True), text.splitlines(True))
        sys.stdout.writelines(difflib.unified_diff(*lines, path.name, "now", n=0))
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
