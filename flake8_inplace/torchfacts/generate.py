"""Write `ops.json` and `refusals.json`: `python -m flake8_inplace.torchfacts.generate [--check | --only NAME]`.

Development only; needs the pinned torch.

Where a fact comes from:

- An op with a formula in PyTorch's own derivatives.yaml is read from there (`schemas`): the formula names what is
  saved, and the rule of `guard_for` in gen_variable_type.py says when. In-place variants inherit the formula; what they
  need of their own input they clone, so only their result and their other operands count.
- Everything else (composites such as dropout or layer_norm, functions written in Python) is executed (`execution`)
  with the samples of `op_db` (`samples`), once for each input that may require grad, with hooks that note what is
  saved. Names without samples have a recipe (`recipes`), or are tried on small tensors. So are layers (`layers`).
- In-place writes and aliases come from the schemas where there is one; what an executed output aliases, and whether it
  requires grad, is measured. A slot counts as saved for sure if most samples save it, since some ask for odd options.

Only the CPU is measured here; `runtime.conformance` runs the same calls on another device and tells where it differs.
Composites that choose another kernel on CUDA may save more there: cuDNN's recurrent layers keep their output, attention
with dropout keeps query, key, value and output.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from . import handwritten, layer_recipes, refusals, refused
from .common import keeps_shape, measured_outs, measured_saves, reduces
from .execution import Overload, Run, measure
from .layers import constructor, module_overloads, module_variants, parameter_words
from .notation import FITS, Condition, Op, Out, Param, Save, format_op, parse_condition, parse_op, parse_save
from .ops import FORMAT, TABLE
from .ops import table as facts_table
from .samples import calls
from .schemas import python_table, schema_table, split_options
from .variations import fitted
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
    runs = runs_by_operator(overloads)
    words = method_words(table)
    for word, holds in (("reducing", reduces), ("shape_keeping", keeps_shape)):
        words[word] = " ".join(sorted(name for name, seen in runs.items() if holds(seen)))
    facts = {"rows": list(rows), "names": names, "older": older, "modules": module_facts(), **words}
    return {TABLE: release | facts, refusals.TABLE: release | observations.words()}


def runs_by_operator(overloads: dict[str, list[Overload]]) -> dict[str, list[Run]]:
    """The runs of all overloads of each operator."""
    runs: dict[str, list[Run]] = {}
    for overload in (overload for group in overloads.values() for overload in group):
        runs.setdefault(overload.op.name, []).extend(overload.runs)
    return runs


def measured(names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Measure a few operators and layers. Yields the name and the row of each overload, the same way as `build`."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    table = {name: group for name, group in overload_table().items() if name.partition("(")[0] in names}
    for sample in calls(table):
        measure(*sample)
    for name, group in table.items():
        yield from ((name, format_op(op)) for op in distinct([finish(o, group) for o in group]))
    for short in layer_recipes.MODULES:
        if f"torch.nn.{short}" in names:
            forms = module_overloads(short).items()
            yield from ((f"torch.nn.{short}", f"{form}: {format_op(finish(overload))}") for form, overload in forms)


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


# -- rows


def finish(o: Overload, siblings: Sequence[Overload] = ()) -> Op:
    """Lay what was measured over what the schema says."""
    op = o.op
    if not o.exact and o.runs:
        written = {name for r in o.runs if r.changed is None for name in r.written}
        writes = op.writes or tuple(p.name for p in op.params if p.name in written)
        op = replace(op, saves=measured_saves(op, o.runs), writes=writes)
    if (option := fitted(op)) is not None:
        fitting = (Condition(option + FITS, (True,)),)
        op = replace(op, saves=tuple(dict.fromkeys(replace(save, sure=False, when=fitting) for save in op.saves)))
    if op.name in handwritten.PADDED:
        op = replace(op, saves=tuple(map(partial(if_whole, *handwritten.PADDED[op.name]), op.saves)))
    if op.name in handwritten.ON_DEVICE:
        op = replace(op, saves=(*op.saves, *map(parse_save, handwritten.ON_DEVICE[op.name].split())))
    if op.name in handwritten.IDENTITY:
        op = replace(op, identity=tuple(map(parse_condition, handwritten.IDENTITY[op.name].split())))
    op = replace(op, saves=tuple(save for save in op.saves if save.slot not in op.writes))
    op = replace(op, outs=tuple(finish_outs(o, siblings)))
    if op.outs and not op.writes and not any(out.differentiable for out in op.outs):
        op = replace(op, saves=())  # what was saved on the way goes with the graph, which nothing holds
    return op


def if_whole(slot: str, length: str, whole: str, save: Save) -> Save:
    """Add to the save of a tensor that may be padded the condition that it isn't."""
    whole_length = Condition(length, (None, whole))
    return replace(save, sure=False, when=(*save.when, whole_length)) if save.slot == slot else save


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
    parser.add_argument("--only", nargs="+", metavar="NAME", help="measure these, print their rows, and write nothing")
    parser.add_argument("-v", "--verbose", action="store_true", help="name the ops of which nothing could be learnt")
    options = parser.parse_args(argv)
    if options.only:
        found = list(measured(options.only))
        print(*(f"{name}: {row}" for name, row in found), sep="\n")
        return int(not found)
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
